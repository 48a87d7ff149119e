package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/cmd/strata/internal/render"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/inspect"
	"github.com/strata-platform/strata/internal/versions"
)

// errNotReady sets the exit code after a printed report of a platform that is not ready.
var errNotReady = errors.New("not ready")

// watchEvery is the polling interval of `status --watch`.
const watchEvery = time.Second

func newStatus(io streams) *cobra.Command {
	var t target
	var o cli.Output
	var watch bool
	command := &cobra.Command{
		Use:   "status",
		Short: "Show every layer, and the root cause if one is not ready",
		Long: `Show every layer as a tree: sources, syncs, Stacks and workloads. The tree shows other objects, such as those of a hop, only
if they are not ready. Below the tree, status prints the root cause, who can fix it, and how. It starts and changes nothing.

The exit code is 0 only if everything is ready. With --watch, a terminal shows the tree in place; elsewhere status prints a
line for each change, with -o json a document on one line, and with -o yaml a document after a line "---". Ctrl-C ends a watch, with exit code 0.`,
		Example: `  strata status
  strata status --watch
  strata status -o json

  # the platform on Google Cloud
  strata status --target gke`,
		Args: arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			p, err := t.open()
			if err != nil {
				return err
			}
			if watch {
				return watchStatus(command.Context(), p, io, o)
			}
			report, err := versions.Status(command.Context(), p)
			if err != nil {
				return err
			}
			if err := o.Print(io.out, report, func() error { render.Status(io.out, report); return nil }); err != nil {
				return err
			}
			if !report.Ready {
				return errNotReady
			}
			return nil
		},
	}
	t.bindAny(command)
	o.Bind(command)
	command.Flags().BoolVarP(&watch, "watch", "w", false, "show every change, until interrupted")
	return command
}

// watchStatus shows the status, and every change, until ctx ends.
func watchStatus(ctx context.Context, p *lifecycle.Platform, io streams, o cli.Output) error {
	var watch inspect.Watch
	defer watch.Stop()
	return render.Watch(ctx, io.out, o.Stream(io.out), watchEvery, func(ctx context.Context) (status.Report, error) { return p.Watch(ctx, &watch) })
}
