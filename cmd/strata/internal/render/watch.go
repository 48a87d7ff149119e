package render

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/strata-platform/strata/internal/status"
)

// Watch shows the report that look returns, and every change of it, until ctx ends. It calls look at the given interval. A
// terminal shows the report in place. Elsewhere Watch prints the first report as a tree and then a line for each change,
// or whatever document prints, unless document is nil, for each report. The end of ctx is not an error.
func Watch(ctx context.Context, out io.Writer, document func(any) error, every time.Duration, look func(context.Context) (status.Report, error)) error {
	var show func(status.Report) error
	terminal, _ := screenOf(out)
	switch {
	case document != nil:
		show = func(report status.Report) error { return document(report) }
	case terminal != nil:
		s := screen{terminal}
		s.begin()
		defer s.end()
		show = s.show
	default:
		show = eachChange(out)
	}
	for {
		report, err := look(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // An interrupt is the ordinary end of a watch.
		}
		if err != nil {
			return err
		}
		if err := show(report); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

// eachChange prints the first report as a tree, and then a line for each change.
func eachChange(out io.Writer) func(status.Report) error {
	var last *status.Report
	return func(report status.Report) error {
		if last == nil {
			report.Print(out, status.Style{})
		} else {
			for _, line := range report.Changes(*last) {
				if _, err := fmt.Fprintln(out, time.Now().Format(time.TimeOnly), line); err != nil {
					return err
				}
			}
		}
		last = &report
		return nil
	}
}

// screen is a terminal that shows a report in place. At the end the terminal shows its previous content again.
type screen struct{ terminal *os.File }

// Control sequences of a terminal.
const (
	otherScreen, firstScreen  = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
	topLeft, eraseLine, erase = "\x1b[H", "\x1b[K", "\x1b[J"
)

func (s screen) begin() { fmt.Fprint(s.terminal, otherScreen) }
func (s screen) end()   { fmt.Fprint(s.terminal, firstScreen) }

// show replaces the previous report in one write, which avoids flicker.
func (s screen) show(report status.Report) error {
	_, style := screenOf(s.terminal)
	var text strings.Builder
	report.Print(&text, style)
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	lines = append(lines, "", time.Now().Format(time.TimeOnly)+"  Ctrl-C ends")
	if _, height, err := term.GetSize(int(s.terminal.Fd())); err == nil {
		lines = lastLines(lines, height)
	}
	_, err := fmt.Fprint(s.terminal, topLeft+strings.Join(lines, eraseLine+"\r\n")+eraseLine+erase)
	return err
}

// lastLines drops the first lines if the screen is too low, because the problems are at the end.
func lastLines(lines []string, height int) []string {
	if len(lines) <= height || height < 2 {
		return lines
	}
	return append([]string{"…"}, lines[len(lines)-height+1:]...)
}
