package status

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/terminal"
)

const (
	// MostOutputs is the maximum number of a Stack's outputs in a report.
	MostOutputs = 20
	// LongestOutput is the maximum number of characters of an output's name, and of its value.
	LongestOutput = 60
)

// OutputsLine returns up to limit outputs as one line that is safe to print, sorted by name: "a=1, b=2, … and 3 more".
func OutputsLine(all map[string]any, limit int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if len(parts) == limit {
			parts = append(parts, fmt.Sprintf("… and %d more", len(all)-limit))
			break
		}
		parts = append(parts, terminal.Line(name, LongestOutput)+"="+ShortOutput(all[name]))
	}
	return strings.Join(parts, ", ")
}

// ShortOutput returns an output as text that is safe to print, with up to LongestOutput characters: a string as it is, any
// other value as JSON.
func ShortOutput(value any) string {
	text, simple := value.(string)
	if !simple {
		// The value was decoded from JSON, so encoding does not fail.
		raw, _ := json.Marshal(value)
		text = string(raw)
	}
	return terminal.Line(text, LongestOutput)
}
