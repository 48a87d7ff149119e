// Package progress shows long work step by step: a line per step with its time, and on a terminal what the step is at.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/strata-platform/strata/internal/terminal"
)

// Step is the time that a named step took.
type Step struct {
	Name    string
	Elapsed time.Duration
}

// Reporter prints steps. The zero value is not ready; use New.
type Reporter struct {
	out      io.Writer
	terminal bool
	mu       sync.Mutex
	name     string
	detail   string
	began    time.Time
	steps    []Step
}

// New returns a reporter that prints to out. On a terminal the current step is shown while it goes on.
func New(out io.Writer) *Reporter {
	terminal := false
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return &Reporter{out: out, terminal: terminal}
}

// Terminal says whether the current step is shown while it goes on.
func (r *Reporter) Terminal() bool { return r.terminal }

const eraseLine = "\r\033[K"

// Start begins a step.
func (r *Reporter) Start(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.name, r.detail, r.began = name, "", time.Now()
	r.draw()
}

// Detail says what the current step is at. Without a terminal only Note prints.
func (r *Reporter) Detail(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.detail = terminal.Line(fmt.Sprintf(format, args...), maxDetail)
	r.draw()
}

// Note prints a line of its own below the steps so far.
func (r *Reporter) Note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.erase()
	fmt.Fprintln(r.out, terminal.Lines(fmt.Sprintf("   "+format, args...), mostNoteLines, longestNoteLine))
	r.draw()
}

// End closes the current step with what came of it. It does nothing where no step is open, so that it can be deferred
// with false for the case of a failure.
func (r *Reporter) End(ok bool, result string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.name == "" {
		return
	}
	elapsed := time.Since(r.began)
	r.erase()
	mark := "✗"
	if ok {
		mark = "✓"
	}
	line := fmt.Sprintf(" %s %s%6.1fs", mark, padded(r.name), elapsed.Seconds())
	if result != "" {
		line += "  " + terminal.Line(result, longestNoteLine)
	}
	fmt.Fprintln(r.out, line)
	r.steps = append(r.steps, Step{Name: r.name, Elapsed: elapsed})
	r.name = ""
}

// nameWidth is as wide as the longest name of a step.
const nameWidth = 52

func padded(name string) string { return fmt.Sprintf("%-*s ", nameWidth, name) }

// Steps returns the steps that were closed.
func (r *Reporter) Steps() []Step {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Step(nil), r.steps...)
}

// Total prints how long all of it took.
func (r *Reporter) Total(name string, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "   %s%6.1fs\n", padded(name), took.Seconds())
}

// Run runs one step. What do returns is shown behind the step.
func (r *Reporter) Run(name string, do func() (result string, err error)) error {
	r.Start(name)
	defer r.End(false, "")
	result, err := do()
	if err != nil {
		return err
	}
	r.End(true, result)
	return nil
}

const (
	maxDetail = 100
	// A note is whole, unless somebody makes it longer than anybody reads.
	mostNoteLines, longestNoteLine = 30, 1000
)

func (r *Reporter) draw() {
	if !r.terminal || r.name == "" {
		return
	}
	text := r.name
	if r.detail != "" {
		text += ": " + r.detail
	}
	if runes := []rune(text); len(runes) > maxDetail {
		text = string(runes[:maxDetail-1]) + "…"
	}
	fmt.Fprintf(r.out, "%s • %s", eraseLine, text)
}

func (r *Reporter) erase() {
	if r.terminal {
		fmt.Fprint(r.out, eraseLine)
	}
}
