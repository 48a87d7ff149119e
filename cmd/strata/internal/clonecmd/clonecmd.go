// Package clonecmd contains the command `strata team clone`.
package clonecmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
)

// Result is the output of -o json.
type Result struct {
	Team string `json:"team"`
	// Folder is the folder of the clone.
	Folder string `json:"folder"`
}

// New returns the command.
func New(o cli.Options) *cobra.Command {
	var output cli.Output
	command := &cobra.Command{
		Use:   "clone NAME [DIR]",
		Short: "Clone a team's repository, as the team",
		Long: `Clone a team's repository, as the team, into the folder DIR or one with the team's name. The clone reads the password from the home at
each push, so a new password needs no new clone, and the clone's configuration contains none.`,
		Example: `  strata team clone web
  strata team clone web ../web`,
		Args:              o.Arguments(cobra.RangeArgs(1, 2)),
		ValidArgsFunction: complete.Teams(o.Local),
		RunE: func(command *cobra.Command, args []string) error {
			p, err := o.Local()
			if err != nil {
				return err
			}
			dir := ""
			if len(args) > 1 {
				dir = args[1]
			}
			folder, err := p.CloneTeam(command.Context(), args[0], dir)
			if err != nil {
				return err
			}
			return output.Print(o.Out, Result{args[0], folder}, func() error {
				_, err := fmt.Fprintf(o.Out, "cloned the repository of team %s into %s\n", args[0], folder)
				return err
			})
		},
	}
	output.Bind(command)
	return command
}
