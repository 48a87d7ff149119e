package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/clonecmd"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/cmd/strata/internal/positional"
	"github.com/strata-platform/strata/cmd/strata/internal/render"
	"github.com/strata-platform/strata/internal/teamadmin"
	"github.com/strata-platform/strata/teams"
)

func newTeam(io streams) *cobra.Command {
	return group(&cobra.Command{
		Use:   "team",
		Short: "Add, list, clone and remove the teams of teams.yaml",
		Example: `  strata team add shop --quota cpu=4,memory=8Gi
  strata up
  strata team list
  strata team remove shop`,
	}, newTeamAdd(io), newTeamList(io), newTeamRemove(io), clonecmd.New(options(io)))
}

// everythingOfGoogle allows every type of Google Cloud.
const everythingOfGoogle = "gcp:*"

func newTeamAdd(io streams) *cobra.Command {
	var o cli.Output
	var team teams.Team
	var quota map[string]string
	var commit bool
	command := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a team to teams.yaml, and create its repository on this machine",
		Long: `Add a team to teams.yaml, and create its repository on this machine. The command

  1. adds the team at the end of the list, and changes nothing else in the file. It applies the layers' checks first, and
     changes nothing if one fails.
  2. commits the file in your name with --commit. The commit contains none of your other changes.
  3. creates the team's Git repository with a first application, if a platform runs on this machine.

strata up creates the team's namespace, accounts and identity. Without --allow the team may declare databases and users on
Cloud SQL, random:*, ConfigMaps and Secrets; without --quota it gets 4 CPU, 8Gi, 50 pods, 100Gi of volumes.

-o json prints {"team", "file", "diff", "commit", "repository", "clone", "kept", "next"}. It omits commit, repository,
clone and kept if there is no value.`,
		Example: `  strata team add shop
  strata team add shop --allow 'gcp:sql/*,random:*,kubernetes:core/v1:Secret' --quota cpu=2,memory=4Gi,pods=20 --commit`,
		Args: arguments(positional.One),
		RunE: func(command *cobra.Command, args []string) error {
			var err error
			team.Name = args[0]
			if team.Quota, err = teams.ParseQuota(quota); err != nil {
				return usageError{err}
			}
			// The type is allowed, because an organisation may rely on IAM alone. But then no policy restricts the team's types.
			for _, each := range team.Allow {
				if each == everythingOfGoogle {
					fmt.Fprintf(io.err, "note: %s lets team %s declare every type of Google Cloud, including IAM: only the roles that layer 1 grants to its identity restrict the team\n",
						each, team.Name)
				}
			}
			return changeTeam(io, &o, func(a *teamadmin.Admin) (teamadmin.Change, error) {
				return a.Add(command.Context(), team, commit)
			})
		},
	}
	o.Bind(command)
	command.Flags().StringSliceVar(&team.Allow, "allow", nil, "types of resources that the team's Programs may declare, such as gcp:sql/*,random:*")
	command.Flags().StringToStringVar(&quota, "quota", nil, "limits of its namespace: any of cpu, memory, memoryLimit, pods, storage, volumes")
	command.Flags().BoolVar(&commit, "commit", false, "commit teams.yaml alone")
	command.ValidArgsFunction = complete.Nothing
	complete.Flag(command, "allow", complete.Values(append(teams.DefaultAllow(), everythingOfGoogle, "gcp:sql/*", "gcp:storage/*")...))
	complete.Flag(command, "quota", cobra.FixedCompletions([]string{"cpu=", "memory=", "memoryLimit=", "pods=", "storage=", "volumes="},
		cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
	return command
}

func newTeamRemove(io streams) *cobra.Command {
	var o cli.Output
	var commit bool
	command := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a team without Stacks from teams.yaml",
		Long: `Remove a team without Stacks from teams.yaml. The command fails if the cluster does not answer, or if the team still has a
Stack or an order of the catalogue, because only these can delete their resources. First remove them from the team's
repository, push, and wait.

strata up then deletes the team's namespace with all of its objects, its Google identity and the passphrase of its state.
The team's Git repository and the state of its Stacks stay.

-o json prints the same fields as strata team add.`,
		Example: `  strata team remove shop
  strata team remove shop --commit`,
		Args:              arguments(positional.One),
		ValidArgsFunction: complete.Teams(atHome),
		RunE: func(command *cobra.Command, args []string) error {
			return changeTeam(io, &o, func(a *teamadmin.Admin) (teamadmin.Change, error) {
				return a.Remove(command.Context(), args[0], commit)
			})
		},
	}
	o.Bind(command)
	command.Flags().BoolVar(&commit, "commit", false, "commit teams.yaml alone")
	return command
}

// changeTeam changes teams.yaml and prints the result. It knows only the platform on this machine (docs/teams.md).
func changeTeam(io streams, o *cli.Output, change func(*teamadmin.Admin) (teamadmin.Change, error)) error {
	p, err := openLocal("")
	if err != nil {
		return err
	}
	result, err := change(teamadmin.New(p))
	if err != nil {
		return err
	}
	return o.Print(io.out, result, func() error { render.TeamChange(io.out, result); return nil })
}
