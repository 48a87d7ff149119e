// Package doctor tells what this machine has and lacks for the local target, and how to get what it lacks.
package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Report is what was found, in the order in which it is told.
type Report struct {
	// OK says that nothing that is needed is lacking.
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`
}

// A Finding is what one check found.
type Finding struct {
	// Check names what was looked at, for example "git".
	Check string `json:"check"`
	Level Level  `json:"level"`
	// Found is what there is.
	Found string `json:"found"`
	// Remedy says what to do, in one line. It is empty where there is nothing to do.
	Remedy string `json:"remedy,omitempty"`
}

// Level says what a finding means for the local target.
type Level string

const (
	// OK means that it is as it should be.
	OK Level = "ok"
	// Note is worth knowing; nothing is wrong.
	Note Level = "note"
	// Warning means that Strata works, but slower, less safely or with something missing.
	Warning Level = "warning"
	// Lacking means that Strata does not work.
	Lacking Level = "lacking"
)

var marks = map[Level]string{OK: "✓", Note: "·", Warning: "!", Lacking: "✗"}

// Check judges the facts.
func Check(f Facts) Report {
	report := Report{OK: true}
	for _, check := range checks {
		report.Findings = append(report.Findings, check(f)...)
	}
	report.OK = !slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.Level == Lacking })
	return report
}

// Of returns the findings of a level.
func (r Report) Of(level Level) []Finding {
	var found []Finding
	for _, f := range r.Findings {
		if f.Level == level {
			found = append(found, f)
		}
	}
	return found
}

// Print writes the report for people: a line for each finding, and the remedy below it.
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
		fmt.Fprintln(out, "\nSomething that is needed is lacking (✗).")
	}
}

// found makes the findings of a check that has one.
func found(check string, level Level, remedy, format string, args ...any) []Finding {
	return []Finding{{Check: check, Level: level, Remedy: remedy, Found: fmt.Sprintf(format, args...)}}
}
