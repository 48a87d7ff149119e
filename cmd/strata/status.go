package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status"
)

// errNotReady makes the exit code of a report that was printed and says that something is not as it should be.
var errNotReady = errors.New("not ready")

// watchEvery is how often `status --watch` looks.
const watchEvery = time.Second

// upResult is `up -o json`.
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

func newStatus(io streams) *cobra.Command {
	var o output
	var watch bool
	command := &cobra.Command{
		Use:   "status",
		Short: "Show every layer, and the root cause of what is not ready",
		Long:  "Show every layer, and the root cause of what is not ready. The exit code is 0 only when everything is ready.",
		Example: `  strata status
  strata status --watch
  strata status -o json`,
		Args: arguments(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			asJSON, err := o.json()
			if err != nil {
				return err
			}
			p, err := openLocal("")
			if err != nil {
				return err
			}
			if watch {
				return watchStatus(command.Context(), p, io, asJSON)
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
	o.bind(command)
	command.Flags().BoolVarP(&watch, "watch", "w", false, "print again whenever something changes, until interrupted")
	return command
}

func printStatus(io streams, report status.Report, asJSON bool) error {
	if asJSON {
		return printJSON(io.out, report)
	}
	report.Print(io.out)
	return nil
}

// watchStatus prints the status whenever it has changed, until ctx ends.
func watchStatus(ctx context.Context, p *local.Platform, io streams, asJSON bool) error {
	var last []byte
	for {
		report, err := p.Status(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		var now bytes.Buffer
		if err := printStatus(streams{out: &now}, report, asJSON); err != nil {
			return err
		}
		if ctx.Err() == nil && !bytes.Equal(now.Bytes(), last) {
			last = now.Bytes()
			if !asJSON {
				fmt.Fprintf(io.out, "── %s\n", time.Now().Format(time.TimeOnly))
			}
			if _, err := io.out.Write(last); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}
