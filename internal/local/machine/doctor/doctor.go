// Package doctor checks whether this machine meets the requirements of the local target, and names a remedy for each
// requirement that it does not meet.
package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Report is the list of findings, in the order of their display.
type Report struct {
	// OK says that no finding has the level Missing.
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`
}

// Finding is the result of one check.
type Finding struct {
	// Check names the subject of the check, for example "git".
	Check string `json:"check"`
	Level Level  `json:"level"`
	// Found describes the present state.
	Found string `json:"found"`
	// Remedy says in one line what the user can do. It is empty if there is nothing to do.
	Remedy string `json:"remedy,omitempty"`
}

// Level is the meaning of a finding for the target.
type Level string

const (
	// OK means that nothing is wrong.
	OK Level = "ok"
	// Note means that the finding is worth knowing, but nothing is wrong.
	Note Level = "note"
	// Warning means that Strata works, but slower, less safely or incompletely.
	Warning Level = "warning"
	// Missing means that Strata does not work until the user applies the remedy.
	Missing Level = "missing"
)

// marks are the signs of the levels in the text form of a report.
var marks = map[Level]string{OK: "✓", Note: "·", Warning: "!", Missing: "✗"}

// Check turns the facts into a report.
func Check(f Facts) Report {
	report := Report{OK: true}
	for _, check := range checks {
		report.Findings = append(report.Findings, check(f)...)
	}
	report.OK = !slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.Level == Missing })
	return report
}

// Add adds a finding of another check.
func (r *Report) Add(f Finding) {
	r.Findings = append(r.Findings, f)
	r.OK = r.OK && f.Level != Missing
}

// Of returns the findings with a level.
func (r Report) Of(level Level) []Finding {
	var found []Finding
	for _, f := range r.Findings {
		if f.Level == level {
			found = append(found, f)
		}
	}
	return found
}

// Print writes the report in text form: a line for each finding, and the remedy below it.
func (r Report) Print(out io.Writer) {
	width := 0
	for _, f := range r.Findings {
		width = max(width, len(f.Check))
	}
	for _, f := range r.Findings {
		fmt.Fprintf(out, "%s %-*s  %s\n", marks[f.Level], width, f.Check, f.Found)
		if f.Remedy != "" {
			fmt.Fprintf(out, "  %s  → %s\n", strings.Repeat(" ", width), f.Remedy)
		}
	}
	if !r.OK {
		fmt.Fprintln(out, "\nThis machine does not meet every requirement (✗).")
	}
}

// found returns a single finding as a list.
func found(check string, level Level, remedy, format string, args ...any) []Finding {
	return []Finding{{Check: check, Level: level, Remedy: remedy, Found: fmt.Sprintf(format, args...)}}
}
