package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/shell"
)

func newEnv(io streams) *cobra.Command {
	var t target
	var o cli.Output
	command := &cobra.Command{
		Use:   "env LAYER",
		Short: "Print the environment for plain pulumi in a layer's folder",
		Long: `Print the environment in which plain pulumi, in a layer's folder, does the same as strata layer: as
assignments for a POSIX shell, or as a JSON object of names and values.

The command creates the stack if it does not exist, and sets its configuration from teams.yaml and the
home. Run it again after a change of teams.yaml. The environment contains the passphrase of the layers'
state.`,
		Example: `  eval "$(strata env bootstrap)" && cd bootstrap && pulumi preview
  eval "$(strata env platform)" && pulumi up     # in the repository's root`,
		ValidArgs: []string{lifecycle.BootstrapLayer, lifecycle.PlatformLayer},
		Args:      layerArgument(),
		RunE: func(command *cobra.Command, args []string) error {
			p, err := t.openLocal()
			if err != nil {
				return err
			}
			env, err := p.ShellEnvironment(command.Context(), args[0], progress.New(io.err))
			if err != nil {
				return err
			}
			return o.Print(io.out, env, func() error {
				for _, name := range slices.Sorted(maps.Keys(env)) {
					fmt.Fprintf(io.out, "export %s=%s\n", name, shell.Quote(env[name]))
				}
				return nil
			})
		},
	}
	t.bind(command)
	o.Bind(command)
	return command
}
