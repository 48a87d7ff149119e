package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/internal/local"
)

func newEnv(io streams) *cobra.Command {
	var t target
	command := &cobra.Command{
		Use:       "env LAYER",
		Short:     "Print the environment in which plain pulumi does the same as strata layer",
		Long:      "Print the environment in which plain pulumi does the same as strata layer. It contains the passphrase of the layers' state.",
		Example:   `  eval "$(strata env bootstrap)" && pulumi stack ls --all`,
		ValidArgs: []string{local.BootstrapLayer, local.PlatformLayer},
		Args:      layerArgument(),
		RunE: func(command *cobra.Command, args []string) error {
			p, err := t.open()
			if err != nil {
				return err
			}
			env, err := p.LayerEnvironment(command.Context(), args[0])
			if err != nil {
				return err
			}
			for _, name := range slices.Sorted(maps.Keys(env)) {
				fmt.Fprintf(io.out, "export %s=%s\n", name, shellQuote(env[name]))
			}
			return nil
		},
	}
	t.bind(command)
	return command
}

// shellQuote quotes a word for a POSIX shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
