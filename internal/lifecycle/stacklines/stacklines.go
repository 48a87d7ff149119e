// Package stacklines describes the Stacks of each team in lines for people.
package stacklines

import (
	"encoding/json"
	"fmt"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/teardown"
	"github.com/strata-platform/strata/internal/terminal"
	"github.com/strata-platform/strata/teams"
)

const (
	// mostStackLines is the number of described Stacks. The teams share it evenly, and each team gets at least one line.
	mostStackLines = 20
	// mostOutputs is the number of outputs in the line of a Stack.
	mostOutputs = 10
	// longestStackLine is the length of a line in characters.
	longestStackLine = 300
)

// Of describes the first Stacks of each team by their outputs that are not secret, and counts the other Stacks. all is the
// command that shows all Stacks.
func Of(list []teams.Team, stacks []teardown.Stack, all string) []string {
	most := max(1, mostStackLines/max(1, len(list)))
	var lines []string
	for _, team := range list {
		count := 0
		for _, stack := range stacks {
			if stack.Namespace != team.Namespace() {
				continue
			}
			if count++; count > most {
				continue
			}
			// A team chooses the names and the outputs, so they must not control the terminal or fill the screen.
			line := fmt.Sprintf("4 %-10s as its service account %s: Stack %s%s", team.Name, stack.Account, stack.Name, outputs(stack))
			lines = append(lines, terminal.Middle(terminal.Escape(line), longestStackLine))
		}
		if more := count - most; more > 0 {
			lines = append(lines, fmt.Sprintf("4 %-10s … and %d more Stacks (%s)", team.Name, more, all))
		}
	}
	return lines
}

func outputs(s teardown.Stack) string {
	all := map[string]any{}
	for name, raw := range s.Outputs {
		var value any
		if err := json.Unmarshal(raw, &value); err == nil {
			all[name] = value
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + status.OutputsLine(all, mostOutputs) + ")"
}
