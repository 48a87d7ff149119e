package report

import (
	"fmt"
	"strings"

	"github.com/strata-platform/strata/internal/terminal"
	"github.com/strata-platform/strata/operator/plan"
)

// signs begin the lines of steps, as Pulumi's do.
var signs = map[string]string{"create": "+", "update": "~", "replace": "±", "delete": "-"}

// Text returns a Plan as lines for a terminal. Each line is escaped.
func Text(s Subject) []string {
	p, line := s.Plan, terminal.Line
	lines := []string{"Plan " + line(p.Name, mostName) + ": " + s.origin(line, " of")}
	all := losses(p)
	for i, each := range all {
		if i == mostLosses {
			lines = append(lines, fmt.Sprintf("DATA LOSS: %d more resources with data", len(all)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("DATA LOSS: %s %s %s (%s)", subject(each.stack, line), each.verb(), line(each.Name, mostName), line(each.Type, mostType)))
	}
	if text := s.consent(line); text != "" {
		lines = append(lines, text)
	}
	words, message := state(p)
	if message != "" {
		words = strings.TrimSpace(words + " " + line(message, mostMessage))
	}
	if words != "" {
		lines = append(lines, words)
	}
	for _, stack := range p.Status.Stacks {
		lines = append(append(lines, ""), Resources(heading(stack.Name, line), stack)...)
	}
	return lines
}

// Resources returns the changes of the resources of a Stack, or of something else, as lines for a terminal below a title. The title is
// already escaped; the other lines are escaped here.
func Resources(title string, stack plan.Stack) []string {
	line := terminal.Line
	var counts []string
	for _, each := range counted {
		if count := stack.Changes[each.op]; count > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", count, each.name))
		}
	}
	if len(counts) == 0 {
		counts = []string{"no resources"}
	}
	if stack.Unseen {
		counts = []string{"not planned"}
	}
	if stack.Failed {
		counts = []string{"failed"}
	}
	lines := []string{fmt.Sprintf("%s: %s", title, strings.Join(counts, ", "))}
	for _, step := range steps(stack) {
		sign := signs[step.Op]
		if sign == "" {
			sign = " "
		}
		text := fmt.Sprintf("  %s %-7s %s (%s)", sign, line(step.Op, mostName), line(step.Name, mostName), line(step.Type, mostType))
		if step.LosesData {
			text += "  LOSES DATA"
		}
		lines = append(lines, text)
		for _, field := range step.Fields {
			lines = append(lines, "      "+fieldText(field))
		}
		if step.More > 0 {
			lines = append(lines, fmt.Sprintf("      and %d more fields", step.More))
		}
	}
	for _, note := range notes(stack, line) {
		lines = append(lines, "  "+note)
	}
	return lines
}

func fieldText(field plan.Field) string {
	line := terminal.Line
	text := line(field.Path, mostPath) + ": "
	switch {
	case field.Before == "":
		text += "set to " + line(field.After, mostValue)
	case field.After == "":
		text += "removed, was " + line(field.Before, mostValue)
	default:
		text += line(field.Before, mostValue) + " → " + line(field.After, mostValue)
	}
	if field.Replaces {
		text += "  (replaces the resource)"
	}
	return text
}
