package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/internal/terminal"
)

func newLogs(io streams) *cobra.Command {
	var follow, raw bool
	command := &cobra.Command{
		Use:   "logs COMPONENT",
		Short: "Print the log of a part of the local platform",
		Long: `Print the log of a part of the local platform: supervisor, etcd, kube-apiserver, a pod that runs as a process, ...
A part of the name is enough where it fits one log only. What a terminal would obey, such as escape sequences, is printed
escaped, because teams have a say in what is logged.`,
		Example: `  strata logs supervisor
  strata logs source-controller --follow

  # byte for byte, for another program
  strata logs kube-apiserver --raw`,
		Args: arguments(oneArgument),
		RunE: func(command *cobra.Command, args []string) error {
			p, err := openLocal("")
			if err != nil {
				return err
			}
			if raw {
				return p.Logs(command.Context(), args[0], follow, io.out)
			}
			out := terminal.NewWriter(io.out)
			return errors.Join(p.Logs(command.Context(), args[0], follow, out), out.Flush())
		},
	}
	command.Flags().BoolVarP(&follow, "follow", "f", false, "go on until interrupted")
	command.Flags().BoolVar(&raw, "raw", false, "print every byte as it is")
	return command
}
