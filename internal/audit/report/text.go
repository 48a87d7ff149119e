package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/strata-platform/strata/internal/audit"
	"github.com/strata-platform/strata/internal/audit/graph"
)

// legend explains the cells of the table.
const legend = "refused/allowed as expected, ! unexpectedly allowed, ? without an answer, - not attempted"

// Text writes the report for people: a table of the identities and areas, everything unexpected, and the paths.
func Text(w io.Writer, r *Report) error {
	if err := table(w, r); err != nil {
		return err
	}
	lines := []string{legend}
	lines = append(lines, findings(r)...)
	lines = append(lines, pathLines(r)...)
	lines = append(lines, skippedLines(r)...)
	lines = append(lines, changeLines(r)...)
	c := r.Counts
	return write(w, append(lines, "", fmt.Sprintf("%d attempts: %d refused, %d allowed as expected, %d unexpectedly allowed, %d without an answer, %d not attempted; %d unexpected paths",
		c.Attempts, c.Refused, c.Allowed, c.Unexpected, c.Failed, c.NotAttempted, c.Paths)))
}

// cell counts the ends of the attempts of one identity in one area.
type cell map[audit.Outcome]int

func (c cell) String() string {
	var parts []string
	if c[audit.Refused]+c[audit.Allowed] > 0 {
		parts = append(parts, fmt.Sprintf("%d/%d", c[audit.Refused], c[audit.Allowed]))
	}
	for _, each := range []struct {
		mark    string
		outcome audit.Outcome
	}{{"!", audit.Unexpected}, {"?", audit.Failed}, {"-", audit.NotAttempted}} {
		if c[each.outcome] > 0 {
			parts = append(parts, fmt.Sprintf("%s%d", each.mark, c[each.outcome]))
		}
	}
	return strings.Join(parts, " ")
}

func table(w io.Writer, r *Report) error {
	cells := map[string]map[audit.Area]cell{}
	for _, result := range r.Results {
		if cells[result.Identity] == nil {
			cells[result.Identity] = map[audit.Area]cell{}
		}
		if cells[result.Identity][result.Area] == nil {
			cells[result.Identity][result.Area] = cell{}
		}
		cells[result.Identity][result.Area][result.Outcome]++
	}
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.StripEscape)
	head := []string{"identity"}
	for _, area := range audit.Areas() {
		head = append(head, string(area))
	}
	fmt.Fprintln(columns, strings.Join(head, "\t"))
	for _, identity := range r.Identities {
		row := []string{line(identity.Name)}
		for _, area := range audit.Areas() {
			row = append(row, cells[identity.Name][area].String())
		}
		fmt.Fprintln(columns, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	return columns.Flush()
}

// findings describes the attempts that were unexpectedly allowed, and those without an answer.
func findings(r *Report) []string {
	var lines []string
	for _, result := range r.Results {
		switch result.Outcome {
		case audit.Unexpected:
			lines = append(lines, fmt.Sprintf("✗ %s may %s%s (%s): %s", line(result.Identity), line(result.What), on(result), result.Area, line(result.Why)))
		case audit.Failed:
			lines = append(lines, fmt.Sprintf("? %s, %s%s (%s): %s", line(result.Identity), line(result.What), on(result), result.Area, line(result.Message)))
		}
	}
	return titled("Without a refusal", lines)
}

func on(result audit.Result) string {
	if result.On == "" {
		return ""
	}
	return ": " + line(result.On)
}

// titled puts an empty line and a title before lines, if there are any.
func titled(title string, lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	return append([]string{"", title}, lines...)
}

// pathLines describes the paths: first the unexpected ones with the permission of each step, then those of the design.
func pathLines(r *Report) []string {
	var unexpected, design []string
	for _, path := range r.Paths {
		if path.Expected {
			design = append(design, "  "+chain(path)+": "+line(path.Why))
			continue
		}
		unexpected = append(unexpected, "✗ "+chain(path))
		for _, step := range path.Steps {
			unexpected = append(unexpected, "    "+line(step.From+" "+step.By))
		}
	}
	return append(titled("Unexpected paths", unexpected), titled("Paths of the design", design)...)
}

func chain(path graph.Path) string {
	nodes := []string{line(path.Identity)}
	for _, step := range path.Steps {
		nodes = append(nodes, line(step.To))
	}
	return strings.Join(nodes, " → ")
}

// skippedLines counts the attempts that were not made, by their reasons.
func skippedLines(r *Report) []string {
	reasons := map[string][]string{}
	count := map[string]int{}
	for _, result := range r.Results {
		if result.Outcome != audit.NotAttempted {
			continue
		}
		count[result.Message]++
		if !slices.Contains(reasons[result.Message], result.Identity) {
			reasons[result.Message] = append(reasons[result.Message], result.Identity)
		}
	}
	var lines []string
	for _, reason := range sorted(reasons) {
		lines = append(lines, fmt.Sprintf("  %d of %s: %s", count[reason], line(strings.Join(reasons[reason], ", ")), line(reason)))
	}
	return titled("Not attempted", lines)
}

// changeLines describes the differences to the older report.
func changeLines(r *Report) []string {
	var lines []string
	for _, change := range r.Changes {
		lines = append(lines, "  "+line(change.String()))
	}
	return titled("Changes", lines)
}
