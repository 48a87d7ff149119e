package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/cmd/strata/internal/render"
	"github.com/strata-platform/strata/internal/teamadmin"
)

func newTeamList(io streams) *cobra.Command {
	var o cli.Output
	command := &cobra.Command{
		Use:   "list",
		Short: "Show each team's access to the cluster, and its Stacks",
		Long: `Show each team's access to the cluster, and its Stacks: for the teams of teams.yaml, and for those that only the cluster has.

-o json prints {"cluster", "teams": [{"name", "state", "message", "namespace", "accounts", "googleAccount", "allow",
"quota": [{"resource", "used", "hard"}], "repository", "syncs": [{"name", "ready", "reason", "message", "revision"}],
"stacks": [{"name", "account", "ready", "reason", "message"}]}]}. cluster is "running", or says why the cluster does
not answer. state is one of:

  ready         all objects in the team's namespace are ready, as in strata status
  not ready     one of them is not; message names it
  not created   only teams.yaml contains the team
  changed       teams.yaml differs from the team's objects in the cluster
  removed       only the cluster contains the team
  unknown       the cluster does not answer`,
		Example: `  strata team list
  strata team list -o json`,
		Args: arguments(positional.None),
		RunE: func(command *cobra.Command, _ []string) error {
			return listTeams(command.Context(), io, &o)
		},
	}
	o.Bind(command)
	return command
}

// listTeams prints all teams.
func listTeams(ctx context.Context, io streams, o *cli.Output) error {
	p, err := openLocal("")
	if err != nil {
		return err
	}
	list, err := teamadmin.New(p).List(ctx)
	if err != nil {
		return err
	}
	return o.Print(io.out, list, func() error {
		render.Teams(io.out, list.Teams)
		if len(list.Teams) == 0 {
			fmt.Fprintln(io.out, "no team yet: "+p.Home.Call("team add NAME"))
		}
		return nil
	})
}
