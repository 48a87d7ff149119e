package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/teamadmin"
	"github.com/strata-platform/strata/internal/terminal"
)

// TeamChange prints the result of a change of teams.yaml: the difference, the repository and the next command.
func TeamChange(w io.Writer, c teamadmin.Change) {
	fmt.Fprint(w, c.Diff)
	if c.Commit != "" {
		fmt.Fprintf(w, "\nCommitted teams.yaml as %s\n", c.Commit)
	}
	if c.URL != "" {
		state := "contains a first application"
		if c.Kept {
			state = "existed before and is unchanged"
		}
		fmt.Fprintf(w, "\nThe repository of team %s %s:\n  %s\n", c.Team, state, c.Clone)
	}
	fmt.Fprintf(w, "\nNext:\n  %s\n", c.Next)
}

// Teams prints the teams with their access and their Stacks, separated by empty lines.
func Teams(w io.Writer, teams []teamadmin.Team) {
	for i, team := range teams {
		if i > 0 {
			fmt.Fprintln(w)
		}
		printTeam(w, team)
	}
}

// mostTeamStacks is the maximum number of Stacks to print for each team. Stacks that are not ready come first.
const mostTeamStacks = 10

// printTeam prints a team as text.
func printTeam(w io.Writer, t teamadmin.Team) {
	state := t.State
	if t.Message != "" {
		state += ": " + t.Message
	}
	// The message may contain a text of the team, too.
	fmt.Fprintf(w, "%s  %s\n", t.Name, terminal.Line(state, longestLine))
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
	stacks := slices.SortedStableFunc(slices.Values(t.Stacks), func(a, b teamadmin.Stack) int { return cmp.Compare(mark(b.Ready), mark(a.Ready)) })
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
func quotaLines(quota []teamadmin.Quota) []string {
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
