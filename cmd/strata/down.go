package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/internal/progress"
)

func newDown(io streams) *cobra.Command {
	var t target
	var purge, yes, dryRun bool
	command := &cobra.Command{
		Use:   "down",
		Short: "Take every layer down in reverse order",
		Long: `Take every layer down in reverse order: the teams' Stacks while the operator lives, then layer 2 with Flux and the
operator, then layer 1 with the cluster, then the processes.`,
		Example: `  # what would be done
  strata down --dry-run

  # everything, with the state and the repositories, without asking
  strata down --purge --yes`,
		Args: arguments(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			p, err := t.open()
			if err != nil {
				return err
			}
			if dryRun {
				for n, step := range p.DownPlan(purge) {
					fmt.Fprintf(io.out, "%d. %s\n", n+1, step.Name)
				}
				return nil
			}
			if !yes {
				if err := confirm(io, "Destroy the platform in "+p.Home.Dir()+", its databases included?"); err != nil {
					return err
				}
			}
			return p.Down(command.Context(), progress.New(io.err), purge)
		},
	}
	t.bind(command)
	command.Flags().BoolVar(&purge, "purge", false, "also remove the home: state, repositories, logs")
	command.Flags().BoolVar(&yes, "yes", false, "do not ask")
	command.Flags().BoolVar(&dryRun, "dry-run", false, "print the plan and change nothing")
	return command
}

// confirm asks a question on a terminal. Without one it refuses: nobody could have answered.
func confirm(io streams, question string) error {
	if f, ok := io.in.(*os.File); ok {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
			return usageError{errors.New("there is no terminal to confirm on: add --yes")}
		}
	}
	fmt.Fprintf(io.err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(io.in).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); err != nil || answer != "y" && answer != "yes" {
		return errors.New("not confirmed: nothing was changed")
	}
	return nil
}
