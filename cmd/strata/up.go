package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/cmd/strata/internal/render"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/wait"
	"github.com/strata-platform/strata/internal/workloads"
)

func newUp(io streams) *cobra.Command {
	var t target
	var o cli.Output
	var w cli.Work
	waitFor := wait.All
	command := &cobra.Command{
		Use:   "up",
		Short: "Run every layer in order, then wait until Flux and the Stacks are ready",
		Long: `Run every layer in order, then wait until Flux and the Stacks are ready.

On the target local it
  1. checks the requirements of this machine, as strata doctor does
  2. builds the missing tools (about 20 minutes the first time; later runs use the cache)
  3. starts the emulated Google Cloud and the Git server
  4. creates the repositories: fleet, platform (from this repository), and one for each team; with --source oci, it also
     publishes the platform, as strata publish --platform does
  5. runs layer 1, bootstrap: cluster, database instance, an identity for each team
  6. runs layer 2, platform: Flux, the platform account, a hop for each team
  7. waits for layers 3 and 4: the operator, and the teams' Stacks

On the target gke, which is Google Cloud, it
  1. checks the requirements of the layers: pulumi and its login, Go, a Google identity, the stacks and their
     configuration. It prints all missing requirements at once, each with the command to run (docs/platform-team.md)
  2. runs layers 1 and 2 with your pulumi, your login, your stacks and your configuration
  3. waits for layers 3 and 4

It skips finished steps: run it again after a change or a failure.

The exit code is 3 if the platform is ready and a team is not: the message names the team's mistake, which only the team can
correct. With --wait platform, up does not wait for the teams, and ends with 0. The exit code is 1 after any other failure.

At the end it prints the addresses of the teams' Services that this machine serves, and the pods that cannot run here.

-o json prints the fields of strata status -o json, "steps": [{"name", "seconds"}], "pages": the fields of strata open -o json,
and "simulated": [{"namespace", "name", "reason"}].`,
		Example: `  # everything on this machine
  strata up

  # on Google Cloud, with the stacks called prod
  strata up --target gke --env prod

  # without waiting for the teams' Stacks and workloads
  strata up --wait platform

  # a second platform beside the first
  STRATA_HOME=/tmp/second strata up

  # with the Pulumi Kubernetes Operator itself, in sandboxed pods
  strata up --operator upstream

  # with the platform itself as a signed artifact
  strata up --source oci`,
		Args: arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			p, err := t.open()
			if err != nil {
				return err
			}
			began := time.Now()
			var report status.Report
			var done *progress.Reporter
			err = w.Run(command, io.err, func(ctx context.Context, show *progress.Reporter) error {
				done = show
				if report, err = p.Up(ctx, show, waitFor); err != nil {
					return err
				}
				show.Total("up", time.Since(began))
				return nil
			})
			if err != nil {
				return err
			}
			found, err := workloadsOf(command.Context(), p)
			if err != nil {
				return err
			}
			return o.Print(io.out, render.NewUp(report, done, found), func() error {
				lines, err := p.Describe(command.Context())
				if err != nil {
					return err
				}
				next, err := p.Next(command.Context())
				if err != nil {
					return err
				}
				render.Up(io.out, lines, next, found)
				return nil
			})
		},
	}
	t.bind(command)
	command.Flags().StringVar(&t.operator, "operator", "",
		"operator that runs the Stacks of a new home: embedded (the default), or upstream for the Pulumi Kubernetes Operator in pods")
	complete.Flag(command, "operator", complete.Values(home.EmbeddedOperator, home.UpstreamOperator))
	command.Flags().StringVar(&t.source, "source", "",
		"where Flux fetches the platform from: git for the Git repository, or oci for signed artifacts in the registry; empty means as before, at first git")
	complete.Flag(command, "source", complete.Values(home.GitSource, home.OCISource))
	command.Flags().Var(&waitFor, "wait", "what to wait for: platform, or all for the platform and the teams")
	complete.Flag(command, "wait", complete.Values("platform", "all"))
	o.Bind(command)
	w.Bind(command)
	return command
}

// workloadsOf lists the pages and the simulated pods of all teams.
func workloadsOf(ctx context.Context, p *lifecycle.Platform) (workloads.List, error) {
	config, err := p.Config(ctx, false)
	if err != nil {
		return workloads.List{}, err
	}
	// A platform may have no team yet.
	teams, err := lifecycle.TeamNamespaces(ctx, config)
	if err != nil {
		return workloads.List{}, err
	}
	return workloads.Of(ctx, lifecycle.Brief(config), slices.Sorted(maps.Keys(teams)))
}
