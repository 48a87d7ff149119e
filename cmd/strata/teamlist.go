package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/terminal"
)

func newTeamList(io streams) *cobra.Command {
	var o output
	command := &cobra.Command{
		Use:   "list",
		Short: "Show each team's access to the cluster, and its Stacks",
		Long: `Show each team's access to the cluster, and its Stacks: for the teams of teams.yaml, and for those that only the cluster has.

-o json prints {"cluster", "teams": [{"name", "state", "message", "namespace", "accounts", "googleAccount", "allow",
"quota": [{"resource", "used", "hard"}], "repository", "syncs": [{"name", "ready", "reason", "message", "revision"}],
"stacks": [{"name", "account", "ready", "reason", "message"}]}]}. cluster is "running", or says why the cluster does
not answer. state is one of:

  ready         all objects of the team's repository are ready
  not ready     one of them is not; message names it
  not made yet  only teams.yaml contains the team
  changed       teams.yaml differs from the team's objects in the cluster
  removed       only the cluster contains the team
  unknown       the cluster does not answer`,
		Example: `  strata team list
  strata team list -o json`,
		Args: arguments(noArguments),
		RunE: func(command *cobra.Command, _ []string) error {
			return listTeams(command.Context(), io, o)
		},
	}
	o.bind(command)
	return command
}

// listTeams prints all teams.
func listTeams(ctx context.Context, io streams, o output) error {
	asJSON, err := o.json()
	if err != nil {
		return err
	}
	p, err := openLocal("")
	if err != nil {
		return err
	}
	list, err := p.ListTeams(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(io.out, list)
	}
	for i, team := range list.Teams {
		if i > 0 {
			fmt.Fprintln(io.out)
		}
		printTeam(io.out, team)
	}
	if len(list.Teams) == 0 {
		fmt.Fprintln(io.out, "no team yet: "+p.Home.Call("team add NAME"))
	}
	return nil
}

// mostTeamStacks is the maximum number of Stacks to print for each team. Stacks that are not ready come first.
const mostTeamStacks = 10

// printTeam prints a team as text.
func printTeam(w io.Writer, t local.TeamStatus) {
	state := t.State
	if t.Message != "" {
		state += ": " + t.Message
	}
	fmt.Fprintf(w, "%s  %s\n", t.Name, state)
	line := func(name, format string, args ...any) {
		// A team chooses the text in its objects, so line escapes it.
		text := terminal.Line(fmt.Sprintf(format, args...), longestLine)
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %-15s %s", name, text), " "))
	}
	line("namespace", "%s", t.Namespace)
	line("accounts", "%s", strings.Join(t.Accounts, ", "))
	line("Google account", "%s", t.GoogleAccount)
	line("may declare", "%s", strings.Join(t.Allow, ", "))
	title := "quota"
	for _, each := range quotaLines(t.Quota) {
		line(title, "%s", each)
		title = ""
	}
	if t.Repository != "" {
		line("repository", "%s", t.Repository)
	}
	for _, s := range t.Syncs {
		line("sync", "%s %s %s", mark(s.Ready), s.Name, readyText(s.Ready, s.Revision, s.Message))
	}
	stacks := slices.SortedStableFunc(slices.Values(t.Stacks), func(a, b local.TeamStack) int { return cmp.Compare(mark(b.Ready), mark(a.Ready)) })
	for n, s := range stacks {
		if n == mostTeamStacks {
			line("", "… and %d more Stacks (strata team list -o json)", len(stacks)-n)
			break
		}
		line("Stack", "%s %s as %s %s", mark(s.Ready), s.Name, s.Account, readyText(s.Ready, "", s.Message))
	}
}

// quotaLines returns lines with the used part of a quota, and omits unused resources. If the usage is unknown, the lines
// show only the limits.
func quotaLines(quota []local.TeamQuota) []string {
	const perLine = 3
	var parts []string
	for _, q := range quota {
		name := strings.TrimPrefix(q.Resource, "requests.")
		switch q.Used {
		case "0":
		case "":
			parts = append(parts, name+" "+q.Hard)
		default:
			parts = append(parts, name+" "+q.Used+" of "+q.Hard)
		}
	}
	if len(parts) == 0 && len(quota) > 0 {
		return []string{"unused"}
	}
	var lines []string
	for some := range slices.Chunk(parts, perLine) {
		lines = append(lines, strings.Join(some, ", "))
	}
	return lines
}

// mark returns the mark of a ready or unready object.
func mark(ready bool) string {
	if ready {
		return "✓"
	}
	return "✗"
}

// readyText returns text for a ready object, and otherwise the message with the reason.
func readyText(ready bool, text, message string) string {
	if ready {
		return text
	}
	return message
}
