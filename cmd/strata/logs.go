package main

import (
	"github.com/spf13/cobra"
)

func newLogs(io streams) *cobra.Command {
	var follow bool
	command := &cobra.Command{
		Use:   "logs COMPONENT",
		Short: "Print the log of a part of the local platform",
		Long: `Print the log of a part of the local platform: supervisor, etcd, kube-apiserver, a pod that runs as a process, ...
A part of the name is enough where it fits one log only.`,
		Example: `  strata logs supervisor
  strata logs source-controller --follow`,
		Args: arguments(oneArgument),
		RunE: func(command *cobra.Command, args []string) error {
			p, err := openLocal("")
			if err != nil {
				return err
			}
			return p.Logs(command.Context(), args[0], follow, io.out)
		},
	}
	command.Flags().BoolVarP(&follow, "follow", "f", false, "go on until interrupted")
	return command
}
