package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
)

// kubeconfigResult is the output of -o json.
type kubeconfigResult struct {
	// Path is the path of the kubeconfig.
	Path string `json:"path"`
}

func newKubeconfig(io streams) *cobra.Command {
	var team string
	var o cli.Output
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
			return o.Print(io.out, kubeconfigResult{path}, func() error {
				_, err := fmt.Fprintln(io.out, path)
				return err
			})
		},
	}
	o.Bind(command)
	complete.Team(command, &team, "act as this team's service account, in the team's namespace", atHome)
	return command
}
