package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/teams"
)

func newTeam(io streams) *cobra.Command {
	return group(&cobra.Command{
		Use:   "team",
		Short: "Add, list and remove the teams of teams.yaml",
		Example: `  strata team add shop --quota cpu=4,memory=8Gi
  strata up
  strata team list
  strata team remove shop`,
	}, newTeamAdd(io), newTeamList(io), newTeamRemove(io))
}

// everythingOfGoogle allows every type of Google Cloud.
const everythingOfGoogle = "gcp:*"

func newTeamAdd(io streams) *cobra.Command {
	var o output
	var team teams.Team
	var quota map[string]string
	var commit bool
	command := &cobra.Command{
		Use:   "add NAME",
		Short: "Write a team into teams.yaml, and make its repository on this machine",
		Long: `Write a team into teams.yaml, and make its repository on this machine.

  1. The team goes to the end of the list; all else in the file stays as it is. What the layers would refuse is refused
     now, and nothing is changed then.
  2. With --commit the file is committed, as you; other changes of yours stay out of that commit.
  3. Where a platform runs on this machine the team's Git repository is made, with a first application in it.

strata up makes the team's namespace, accounts and identity. Without --allow the team may declare databases and users on
Cloud SQL, random:*, ConfigMaps and Secrets; without --quota it gets 4 CPU, 8Gi, 50 pods, 100Gi of volumes.

-o json prints {"team", "file", "diff", "commit", "repository", "clone", "kept", "next"}: commit, repository, clone and
kept only where there is such.`,
		Example: `  strata team add shop
  strata team add shop --allow 'gcp:sql/*,random:*,kubernetes:core/v1:Secret' --quota cpu=2,memory=4Gi,pods=20 --commit`,
		Args: arguments(oneArgument),
		RunE: func(command *cobra.Command, args []string) error {
			var err error
			team.Name = args[0]
			if team.Quota, err = teams.ParseQuota(quota); err != nil {
				return usageError{err}
			}
			for _, each := range team.Allow {
				if each == everythingOfGoogle {
					fmt.Fprintf(io.err, "note: %s lets team %s declare whatever there is in Google Cloud, IAM included: what it may do there, the roles bound that layer 1 gives its identity\n",
						each, team.Name)
				}
			}
			return changeTeam(io, o, func(p *local.Platform) (local.TeamChange, error) {
				return p.AddTeam(command.Context(), team, commit)
			})
		},
	}
	o.bind(command)
	command.Flags().StringSliceVar(&team.Allow, "allow", nil, "types of resources that the team's Programs may declare, such as gcp:sql/*,random:*")
	command.Flags().StringToStringVar(&quota, "quota", nil, "what its namespace may use: any of cpu, memory, memoryLimit, pods, storage, volumes")
	command.Flags().BoolVar(&commit, "commit", false, "commit teams.yaml, and nothing else")
	return command
}

func newTeamRemove(io streams) *cobra.Command {
	var o output
	var commit bool
	command := &cobra.Command{
		Use:   "remove NAME",
		Short: "Take a team that has no Stacks out of teams.yaml",
		Long: `Take a team that has no Stacks out of teams.yaml. What its Stacks made only they can delete: as long as one lives the team
stays, and it stays where the cluster cannot be asked. Remove them from the team's repository, push, and wait.

strata up then deletes the team's namespace with all that is in it, its Google identity and the passphrase of its state.
The team's Git repository stays as it is, and so does the state of its Stacks.

-o json prints the same as that of strata team add.`,
		Example: `  strata team remove shop
  strata team remove shop --commit`,
		Args: arguments(oneArgument),
		RunE: func(command *cobra.Command, args []string) error {
			return changeTeam(io, o, func(p *local.Platform) (local.TeamChange, error) {
				return p.RemoveTeam(command.Context(), args[0], commit)
			})
		},
	}
	o.bind(command)
	command.Flags().BoolVar(&commit, "commit", false, "commit teams.yaml, and nothing else")
	return command
}

// changeTeam changes teams.yaml and prints the result.
func changeTeam(io streams, o output, change func(*local.Platform) (local.TeamChange, error)) error {
	asJSON, err := o.json()
	if err != nil {
		return err
	}
	p, err := openLocal("")
	if err != nil {
		return err
	}
	result, err := change(p)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(io.out, result)
	}
	printTeamChange(io.out, result)
	return nil
}

func printTeamChange(w io.Writer, c local.TeamChange) {
	fmt.Fprint(w, c.Diff)
	if c.Commit != "" {
		fmt.Fprintf(w, "\nCommitted teams.yaml as %s\n", c.Commit)
	}
	if c.Repository != "" {
		state := "begins with a first application"
		if c.Kept {
			state = "is there and stays as it is"
		}
		fmt.Fprintf(w, "\nThe repository of team %s %s:\n  %s\n", c.Team, state, c.Clone)
	}
	fmt.Fprintf(w, "\nNext:\n  %s\n", c.Next)
}
