package main

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status"
)

// errNotReady sets the exit code after a printed report of a platform that is not ready.
var errNotReady = errors.New("not ready")

// upResult is the output of `up -o json`.
type upResult struct {
	status.Report
	Steps []upStep `json:"steps"`
}

// upStep is a step in the output of `up -o json`.
type upStep struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// steps returns the steps that a reporter has shown.
func steps(show *progress.Reporter) []upStep {
	var list []upStep
	for _, s := range show.Steps() {
		list = append(list, upStep{Name: s.Name, Seconds: s.Elapsed.Seconds()})
	}
	return list
}

func newStatus(io streams) *cobra.Command {
	var t target
	var o output
	var watch bool
	command := &cobra.Command{
		Use:   "status",
		Short: "Show every layer, and the root cause if one is not ready",
		Long: `Show every layer as a tree: sources, syncs, Stacks and workloads. The tree shows other objects, such as those of a hop, only
if they are not ready. Below the tree, status prints the root cause, who can fix it, and how. It starts and changes nothing.

The exit code is 0 only if everything is ready. With --watch, a terminal shows the tree in place; elsewhere status prints a
line for each change, or with -o json a document on one line. Ctrl-C ends a watch, with exit code 0.`,
		Example: `  strata status
  strata status --watch
  strata status -o json

  # the platform on Google Cloud
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
	command.Flags().BoolVarP(&watch, "watch", "w", false, "show every change, until interrupted")
	return command
}

// printStatus prints a report as JSON, or as a tree that fits the terminal.
func printStatus(io streams, report status.Report, asJSON bool) error {
	if asJSON {
		return printJSON(io.out, report)
	}
	_, style := screenOf(io.out)
	report.Print(io.out, style)
	return nil
}

const (
	// promptLines is the number of lines for the command line and the prompt after the output. A watch uses them for its
	// own last line.
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
