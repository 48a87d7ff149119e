package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/internal/progress"
)

func newUp(io streams) *cobra.Command {
	var t target
	var o output
	command := &cobra.Command{
		Use:   "up",
		Short: "Run every layer in order, then wait until Flux and the Stacks are ready",
		Long: `Run every layer in order, then wait until Flux and the Stacks are ready.

On the target local it
  1. builds what is missing of the toolchain (about 20 minutes the first time, cached from then on)
  2. starts the emulated Google Cloud and the Git server
  3. makes the repositories: fleet, platform (this clone), and one for each team
  4. runs layer 1, bootstrap: cluster, database instance, an identity for each team
  5. runs layer 2, platform: Flux, the platform account, a hop for each team
  6. waits for layers 3 and 4: the operator, and the teams' Stacks

What is done already is skipped: run it again after a change or a failure.`,
		Example: `  # everything on this machine
  strata up

  # a second platform beside the first
  STRATA_HOME=/tmp/second strata up`,
		Args: arguments(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			asJSON, err := o.json()
			if err != nil {
				return err
			}
			p, err := t.open()
			if err != nil {
				return err
			}
			show := progress.New(io.err)
			report, err := p.Up(command.Context(), show)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(io.out, upResult{Report: report, Steps: steps(show)})
			}
			lines, err := p.Describe(command.Context())
			if err != nil {
				return err
			}
			next, err := p.NextSteps(command.Context())
			if err != nil {
				return err
			}
			fmt.Fprintln(io.out, "\nWhat exists now")
			for _, line := range lines {
				fmt.Fprintln(io.out, "  "+line)
			}
			fmt.Fprintln(io.out, "\nTry next")
			for _, line := range next {
				fmt.Fprintln(io.out, "  "+line)
			}
			return nil
		},
	}
	t.bind(command)
	o.bind(command)
	return command
}
