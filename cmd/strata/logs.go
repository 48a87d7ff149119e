package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/internal/terminal"
)

func newLogs(io streams) *cobra.Command {
	var follow, raw bool
	command := &cobra.Command{
		Use:   "logs COMPONENT",
		Short: "Print the log of a part of the local platform",
		Long: `Print the log of a part of the local platform: supervisor, etcd, kube-apiserver, a pod that runs as a process, ...
A part of the name is enough if it matches only one log. The command escapes control characters, such as escape sequences,
because a log may contain text of a team.`,
		Example: `  strata logs supervisor
  strata logs source-controller --follow

  # unescaped, for another program
  strata logs kube-apiserver --raw`,
		Args:              arguments(positional.One),
		ValidArgsFunction: complete.Logs(atHome),
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
	command.Flags().BoolVarP(&follow, "follow", "f", false, "print new lines until interrupted")
	command.Flags().BoolVar(&raw, "raw", false, "print control characters unescaped")
	return command
}
