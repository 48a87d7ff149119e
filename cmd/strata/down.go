package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/cmd/strata/internal/render"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/progress"
)

func newDown(io streams) *cobra.Command {
	var t target
	var o cli.Output
	var w cli.Work
	var purge, yes, dryRun bool
	command := &cobra.Command{
		Use:   "down",
		Short: "Take every layer down in reverse order",
		Long: `Take every layer down in reverse order, after it has shown the data that will be lost and asked for confirmation:

  1. check that no resource has deletionProtection
  2. delete the teams' Stacks, while the operator can still destroy their resources
  3. delete the teams' namespaces and the operator, while Flux still runs
  4. destroy layer 2 with Flux, layer 1 with the cluster, and on this machine stop the processes

If an object blocks a step, down names the object and the next command, and ends after a bounded time with exit code 1.
Remove the cause and run down again, or run strata up to restore the platform. --purge --yes deletes the platform in spite of
the object.

On the target gke the Pulumi stacks and their configuration stay, and so do the repositories. down rejects --purge
there.

-o formats the plan of --dry-run: {"steps": [{"name", "what"}], "lost", "unknown", "stays"}.`,
		Example: `  # the plan
  strata down --dry-run

  # everything, with the state and the repositories, without confirmation
  strata down --purge --yes

  # on Google Cloud
  strata down --target gke --dry-run`,
		Args: arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			p, err := t.open()
			if err != nil {
				return err
			}
			if about := p.About(); purge && about.Purge == "" {
				return usageError{fmt.Errorf("--purge does not apply to %s: leave it out", about.Place)}
			}
			if dryRun || !yes {
				if err := planDown(command.Context(), io, p, purge, dryRun, &o); err != nil || dryRun {
					return err
				}
			}
			began := time.Now()
			return w.Run(command, io.err, func(ctx context.Context, show *progress.Reporter) error {
				if err := p.Down(ctx, show, purge); err != nil {
					return err
				}
				show.Total("down", time.Since(began))
				return nil
			})
		},
	}
	t.bind(command)
	o.Bind(command)
	w.Bind(command)
	command.Flags().BoolVar(&purge, "purge", false, "also remove the home: state, repositories, logs")
	command.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	command.Flags().BoolVar(&dryRun, "dry-run", false, "print the plan and change nothing")
	return command
}

// planDown prints the plan of down. Unless dryRun is set, it then asks for confirmation.
func planDown(ctx context.Context, io streams, p *lifecycle.Platform, purge, dryRun bool, o *cli.Output) error {
	if !dryRun {
		// Before the plan: reading the platform takes seconds, which are wasted if nobody can confirm.
		if err := options(io).CanAnswer(); err != nil {
			return err
		}
	}
	plan := p.Plan(ctx, purge)
	if err := ctx.Err(); err != nil {
		return err
	}
	if dryRun {
		return o.Print(io.out, render.NewPlan(plan), func() error { plan.Print(io.out); return nil })
	}
	plan.Print(io.err)
	return options(io).Confirm(ctx, "\nDestroy "+p.About().Place+" with its cluster and databases?")
}
