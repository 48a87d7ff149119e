package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/positional"
)

func newKubeconfig(io streams) *cobra.Command {
	var team string
	command := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of a kubeconfig, as the administrator or as a team",
		Example: `  kubectl --kubeconfig "$(strata kubeconfig)" get pods -A
  kubectl --kubeconfig "$(strata kubeconfig --team web)" get stacks`,
		Args: arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			p, err := openLocal("")
			if err != nil {
				return err
			}
			path, err := p.AdminKubeconfig()
			if team != "" {
				path, err = p.TeamKubeconfig(command.Context(), team)
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(io.out, path)
			return nil
		},
	}
	command.Flags().StringVar(&team, "team", "", "act as this team's service account, in the team's namespace")
	return command
}
