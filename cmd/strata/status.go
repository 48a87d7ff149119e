package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/terminal"
)

// errNotReady sets the exit code after a printed report of a platform that is not ready.
var errNotReady = errors.New("not ready")

// watchEvery is the polling interval of `status --watch`.
const watchEvery = time.Second

// upResult is the output of `up -o json`.
type upResult struct {
	status.Report
	Steps []upStep `json:"steps"`
}

type upStep struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

func steps(show *progress.Reporter) []upStep {
	var list []upStep
	for _, s := range show.Steps() {
		list = append(list, upStep{Name: s.Name, Seconds: s.Elapsed.Seconds()})
	}
	return list
}

// watched is a platform whose status can be read repeatedly.
type watched interface {
	Watch(ctx context.Context, watch *status.Watch) (status.Report, error)
}

func newStatus(io streams) *cobra.Command {
	var t target
	var o output
	var watch bool
	command := &cobra.Command{
		Use:   "status",
		Short: "Show every layer, and the root cause of what is not ready",
		Long: `Show every layer as a tree: sources, syncs, Stacks and what runs; what a hop made only where something is wrong with it.
Below it stands the root cause of what is not ready, who can mend it, and how. Nothing is started or changed.

The exit code is 0 only when everything is ready. With --watch it is 0 when it ends by Ctrl-C: a terminal shows the tree
in place; elsewhere a line is printed for each change, with -o json a whole document, one per line.`,
		Example: `  strata status
  strata status --watch
  strata status -o json

  # of the platform on Google Cloud
  strata status --target gke`,
		Args: arguments(noArguments),
		RunE: func(command *cobra.Command, _ []string) error {
			asJSON, err := o.json()
			if err != nil {
				return err
			}
			p, err := t.open()
			if err != nil {
				return err
			}
			if watch {
				return watchStatus(command.Context(), p, io.out, asJSON, watchEvery)
			}
			report, err := p.Status(command.Context())
			if err != nil {
				return err
			}
			if err := printStatus(io, report, asJSON); err != nil {
				return err
			}
			if !report.Ready {
				return errNotReady
			}
			return nil
		},
	}
	t.bindAny(command)
	o.bind(command)
	command.Flags().BoolVarP(&watch, "watch", "w", false, "show what changes, until interrupted")
	return command
}

func printStatus(io streams, report status.Report, asJSON bool) error {
	if asJSON {
		return printJSON(io.out, report)
	}
	_, style := screenOf(io.out)
	report.Print(io.out, style)
	return nil
}

const (
	// promptLines leaves room for the command line and the prompt after the output. A watch prints there how to end it.
	promptLines = 2
	// lowestScreen is the minimum number of lines to print, even on a smaller terminal.
	lowestScreen = 10
)

// screenOf returns the terminal behind w, nil if w is not a terminal, and the style for w.
func screenOf(w io.Writer) (*os.File, status.Style) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, status.Style{}
	}
	style := status.Style{Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	if width, height, err := term.GetSize(int(f.Fd())); err == nil {
		style.Width, style.Height = width, max(height-promptLines, lowestScreen)
	}
	return f, style
}

// watchStatus shows the status, and every change, until ctx ends. It polls at the given interval.
func watchStatus(ctx context.Context, p watched, out io.Writer, asJSON bool, every time.Duration) error {
	var show func(status.Report) error
	terminal, _ := screenOf(out)
	switch {
	case asJSON:
		show = eachDocument(out)
	case terminal != nil:
		s := screen{terminal}
		s.begin()
		defer s.end()
		show = s.show
	default:
		show = eachChange(out)
	}
	var watch status.Watch
	defer watch.Stop()
	for {
		report, err := p.Watch(ctx, &watch)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // To be interrupted is how a watch ends.
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

// eachDocument prints a report as one line of JSON if it differs from the previous report.
func eachDocument(out io.Writer) func(status.Report) error {
	last := ""
	return func(report status.Report) error {
		raw, err := json.Marshal(report)
		if err != nil || string(raw) == last {
			return err
		}
		last = string(raw)
		_, err = fmt.Fprintln(out, string(terminal.JSON(raw)))
		return err
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

// screen is a terminal that shows a report in place. Its previous content returns at the end.
type screen struct{ terminal *os.File }

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
		lines = fit(lines, height)
	}
	_, err := fmt.Fprint(s.terminal, topLeft+strings.Join(lines, eraseLine+"\r\n")+eraseLine+erase)
	return err
}

// fit drops the first lines if there are more than fit on the screen: the problems are at the end.
func fit(lines []string, height int) []string {
	if len(lines) <= height || height < 2 {
		return lines
	}
	return append([]string{"…"}, lines[len(lines)-height+1:]...)
}
