package upgrade

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Print prints the plan as text: losses of data first.
func (p Plan) Print(out io.Writer) {
	for _, step := range p.Steps {
		for _, lost := range step.lost() {
			fmt.Fprintf(out, "DATA IS LOST in %s: %s\n", step.Name, lost)
		}
	}
	if p.Begun != "" {
		fmt.Fprintf(out, "an upgrade has stopped at its step %q, and continues there\n", p.Begun)
	}
	for n, step := range p.Steps {
		summary := step.summary()
		if step.Name == platformStep && step.Unknown == "" && n > 0 && len(p.Steps[n-1].Resources) > 0 {
			// The preview has read the outputs that layer 1 has now.
			summary += " (before the changes of layer 1)"
		}
		fmt.Fprintf(out, "%d. %s: %s\n", n+1, step.Name, summary)
		for _, version := range step.Versions {
			fmt.Fprintf(out, "     %s\n", version)
		}
		for _, resource := range step.Resources {
			fmt.Fprintf(out, "     %s\n", resource)
		}
		for _, warning := range step.Warnings {
			fmt.Fprintf(out, "     warning: %s\n", warning)
		}
	}
	if p.Refused != "" {
		fmt.Fprintf(out, "\nrefused: %s\n", p.Refused)
	}
}

// summary counts what the step changes.
func (s Step) summary() string {
	if s.Unknown != "" {
		return "unknown until the step before has run: " + s.Unknown
	}
	if !s.Changes() {
		return "nothing to change"
	}
	var parts []string
	for _, op := range slices.Sorted(maps.Keys(s.Counts)) {
		if op != "same" {
			parts = append(parts, fmt.Sprintf("%d to %s", s.Counts[op], op))
		}
	}
	switch s.Name {
	case bootstrapStep, platformStep:
		parts = append(parts, fmt.Sprintf("%d unchanged", s.Counts["same"]))
	case fluxStep:
		parts = append(parts, "layer 2 installs it")
	case kindsStep:
		parts = append(parts, "Flux applies them")
	default:
		parts = append(parts, "Flux applies it")
	}
	return strings.Join(parts, ", ")
}
