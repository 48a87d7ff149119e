package complete

import (
	"github.com/spf13/cobra"
)

// TeamFlag is the name of the flag for a team.
const TeamFlag = "team"

// Team adds the flag --team to a command, which completes the teams of teams.yaml.
func Team(command *cobra.Command, team *string, usage string, open Open) {
	command.Flags().StringVar(team, TeamFlag, "", usage)
	Flag(command, TeamFlag, from(0, teamsOf(open)))
}

// Flag sets the completion of a flag's values.
func Flag(command *cobra.Command, name string, values cobra.CompletionFunc) {
	// The only errors are those of an unknown flag and of a second registration.
	if err := command.RegisterFlagCompletionFunc(name, values); err != nil {
		panic(err)
	}
}

// Values completes fixed values.
func Values(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// Nothing completes nothing, not even names of files.
func Nothing(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// Files completes names of files.
func Files(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}
