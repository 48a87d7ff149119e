package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/strata-platform/strata/internal/terminal"
	"github.com/strata-platform/strata/operator/plan"
)

// mostMarkdown is the size in bytes at which a report leaves out the rest of its details. A comment on GitHub has at most 65,536
// characters, and a larger one would fail: a commit could so hide its plan.
const mostMarkdown = 60_000

// code returns a text as a code span: forges interpret nothing in it, no link, no mention, no HTML. The span contains neither a
// backtick, which would end it, nor a pipe, which would end the cell of a table. Both are escaped as [terminal.Line] escapes
// unprintable characters.
func code(text string, most int) string {
	text = inCode.Replace(terminal.Line(text, most))
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

var inCode = strings.NewReplacer("`", `\x60`, "|", `\x7c`)

// Markdown returns Plans as Markdown with tables, in the dialect of GitHub and GitLab. All of them fit into one comment.
func Markdown(all ...Subject) string {
	var texts []string
	for _, s := range all {
		texts = append(texts, planMarkdown(s, mostMarkdown/len(all)))
	}
	return strings.Join(texts, "\n")
}

// planMarkdown returns a Plan as Markdown. It leaves out details beyond most bytes.
func planMarkdown(s Subject, most int) string {
	p := s.Plan
	lines := []string{"### Plan of " + s.origin(code, " on"), ""}
	lines = append(lines, lossesMarkdown(p, most/2)...)
	if text := s.consent(code); text != "" {
		lines = append(lines, text, "")
	}
	words, message := state(p)
	if message != "" {
		words = strings.TrimSpace(words + " " + code(message, mostMessage))
	}
	if words != "" {
		lines = append(lines, words, "")
	}
	if len(p.Status.Stacks) > 0 {
		lines = append(lines, summary(p.Status.Stacks)...)
	}
	end := "Plan " + code(p.Name, mostName)
	if p.Status.Digest != "" {
		end += ", digest " + code(p.Status.Digest, mostName)
	}
	return strings.Join(append(details(p, lines, most), end), "\n") + "\n"
}

// lossesMarkdown returns the list of all steps that lose data: the rest of the report may be cut, and this list names what must not be
// overlooked. Only a list of more than most bytes is cut. Its last line then counts the others.
func lossesMarkdown(p *plan.Plan, most int) []string {
	all := losses(p)
	if len(all) == 0 {
		return nil
	}
	lines := []string{"> [!CAUTION]", fmt.Sprintf("> **Data loss: %d resources with data are deleted or replaced.**", len(all)), ">"}
	size := 0
	for i, each := range all {
		line := fmt.Sprintf("> - %s **%s** %s (%s)", subject(each.stack, code), each.verb(), code(each.Name, mostName), code(each.Type, mostType))
		if size += len(line) + 1; size > most {
			lines = append(lines, fmt.Sprintf("> - **and %d more that lose data and do not fit into a comment**: `strata plan show` prints them", len(all)-i))
			break
		}
		lines = append(lines, line)
	}
	return append(lines, "")
}

// summary returns a table with the counts of each Stack.
func summary(stacks []plan.Stack) []string {
	head, rule := "| Stack |", "|---|"
	for _, each := range counted {
		head, rule = head+" "+each.name+" |", rule+"---:|"
	}
	lines := []string{head, rule}
	for _, stack := range stacks {
		row := []string{code(stack.Name, mostName)}
		for _, each := range counted {
			if stack.Failed || stack.Unseen {
				row = append(row, "?")
			} else {
				row = append(row, strconv.Itoa(stack.Changes[each.op]))
			}
		}
		lines = append(lines, "| "+strings.Join(row, " | ")+" |")
	}
	return append(lines, "")
}

// details adds the resources of each Stack to the lines of a report, as long as the report has at most this many bytes.
func details(p *plan.Plan, lines []string, most int) []string {
	size, left := 0, 0
	for _, line := range lines {
		size += len(line) + 1
	}
	for _, stack := range p.Status.Stacks {
		left += len(stack.Steps)
	}
	for i, stack := range p.Status.Stacks {
		for _, part := range stackMarkdown(stack) {
			for _, line := range part.lines {
				size += len(line) + 1
			}
			if size > most {
				// An empty line ends a table.
				return append(lines, "", fmt.Sprintf("The rest of %s and %d more Stacks, with %d changes of resources, do not fit into a comment: `strata plan show` prints them.",
					heading(stack.Name, code), len(p.Status.Stacks)-i-1, left), "")
			}
			lines, left = append(lines, part.lines...), left-part.steps
		}
	}
	return lines
}

// part is a part of the details that is shown as a whole or not at all, and its number of steps.
type part struct {
	lines []string
	steps int
}

// stackMarkdown returns the resources of a Stack that change: a part for each.
func stackMarkdown(stack plan.Stack) []part {
	said := notes(stack, code)
	if len(stack.Steps) == 0 && len(said) == 0 {
		return nil
	}
	head := part{lines: []string{"#### " + heading(stack.Name, code), ""}}
	if len(stack.Steps) > 0 {
		head.lines = append(head.lines, "| | resource | type | field | before | after |", "|---|---|---|---|---|---|")
	}
	parts := []part{head}
	for _, step := range steps(stack) {
		parts = append(parts, part{stepMarkdown(step), 1})
	}
	end := part{}
	if len(stack.Steps) > 0 {
		end.lines = append(end.lines, "")
	}
	for _, note := range said {
		end.lines = append(end.lines, note, "")
	}
	return append(parts, end)
}

// stepMarkdown returns the rows of a step: one for each field.
func stepMarkdown(step plan.Step) (rows []string) {
	operation := opMarkdown(step.Op)
	if step.LosesData {
		operation = "**" + operation + ", loses data**"
	}
	begin := fmt.Sprintf("| %s | %s | %s |", operation, code(step.Name, mostName), code(step.Type, mostType))
	if len(step.Fields) == 0 {
		rows = append(rows, begin+" | | |")
	}
	for _, field := range step.Fields {
		path := code(field.Path, mostPath)
		if field.Replaces {
			path += " (replaces)"
		}
		rows = append(rows, fmt.Sprintf("%s %s |%s|%s|", begin, path, cell(field.Before), cell(field.After)))
		begin = "| | | |"
	}
	if step.More > 0 {
		rows = append(rows, fmt.Sprintf("| | | | and %d more fields | | |", step.More))
	}
	return rows
}

// cell returns a cell of a table with a value.
func cell(value string) string {
	if value = code(value, mostValue); value == "" {
		return " "
	}
	return " " + value + " "
}

// opMarkdown returns the name of an operation; one that this program does not know as code.
func opMarkdown(op string) string {
	switch op {
	case "create", "update", "replace", "delete", "read", "import":
		return op
	}
	return code(op, mostName)
}
