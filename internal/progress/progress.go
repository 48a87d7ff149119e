// Package progress shows long work step by step: a line for each step with its duration, and on a terminal the current
// detail of the step.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/strata-platform/strata/internal/terminal"
)

// Step is the duration of a named step.
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
	// verbose prints each detail as a line. failed describes the last step that failed, with its last detail.
	verbose bool
	failed  string
}

// New returns a reporter that prints to out. On a terminal it shows the current step while the step runs.
func New(out io.Writer) *Reporter {
	return &Reporter{out: out, terminal: terminal.Screen(out) != nil}
}

// NewVerbose returns a reporter that prints each detail as a line of its own, with the time since the step began.
func NewVerbose(out io.Writer) *Reporter { return &Reporter{out: out, verbose: true} }

// Failed describes the last step that failed: its name and its last detail. It is empty if no step has failed.
func (r *Reporter) Failed() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// Terminal reports whether the reporter shows the current step while the step runs.
func (r *Reporter) Terminal() bool { return r.terminal }

const eraseLine = "\r\033[K"

// Start starts a step.
func (r *Reporter) Start(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.name, r.detail, r.began = name, "", time.Now()
	r.draw()
}

// Detail shows the current detail of a step on a terminal. Elsewhere it prints nothing, and a verbose reporter prints a line for
// each new detail. Note prints a line everywhere.
func (r *Reporter) Detail(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	width := maxDetail
	if r.verbose {
		width = longestNoteLine
	}
	last := r.detail
	r.detail = terminal.Line(fmt.Sprintf(format, args...), width)
	if r.verbose && r.detail != last {
		fmt.Fprintf(r.out, "   %6.1fs  %s\n", time.Since(r.began).Seconds(), r.detail)
	}
	r.draw()
}

// Note prints a separate line below the steps so far.
func (r *Reporter) Note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.erase()
	fmt.Fprintln(r.out, terminal.Lines(fmt.Sprintf("   "+format, args...), mostNoteLines, longestNoteLine))
	r.draw()
}

// End ends the current step and shows its result. It does nothing without a current step: a deferred End(false, "") ends a
// failed step only.
func (r *Reporter) End(ok bool, result string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.name == "" {
		return
	}
	elapsed := time.Since(r.began)
	if !ok {
		r.failed = r.name
		if r.detail != "" {
			r.failed += ": " + r.detail
		}
	}
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

// nameWidth is the width of the longest name of a step.
const nameWidth = 52

func padded(name string) string { return fmt.Sprintf("%-*s ", nameWidth, name) }

// Steps returns the steps that have ended.
func (r *Reporter) Steps() []Step {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Step(nil), r.steps...)
}

// Total prints the total duration.
func (r *Reporter) Total(name string, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "   %s%6.1fs\n", padded(name), took.Seconds())
}

// Run runs do as one step, and shows its result after the step's duration.
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

// worthALine is the duration from which RunShort prints a line.
const worthALine = time.Second

// RunShort is Run for a preparation that is short as a rule: it prints a line only if do fails or takes longer than a second. On
// a terminal it shows the step while it runs. Within another step, name is a detail of that step.
func (r *Reporter) RunShort(name string, do func() (result string, err error)) error {
	if r.within() {
		r.Detail("%s", name)
		_, err := do()
		return err
	}
	r.Start(name)
	defer r.End(false, "")
	result, err := do()
	if err != nil {
		return err
	}
	if r.verbose || r.running() >= worthALine {
		r.End(true, result)
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.erase()
	r.name = ""
	return nil
}

// within reports whether a step runs.
func (r *Reporter) within() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.name != ""
}

// running returns for how long the current step has run.
func (r *Reporter) running() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.began)
}

const (
	maxDetail = 100
	// Limits of a note, far above the length of an ordinary note.
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
