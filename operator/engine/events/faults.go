package events

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strata-platform/strata/operator/engine/message"
)

// mostFaults bounds how many messages of each kind the engine keeps for the description
// of a failure.
const mostFaults = 100

// longestFault bounds how much of a message the engine processes, in bytes. The engine
// shows only the beginning of a message.
const longestFault = 64 << 10

// deprecated begins a warning that the language host for YAML prints about each Program with configuration. The field of a
// Program has this name and no other, so its author cannot obey the warning.
const deprecated = "Warning: Pulumi.yaml: root-level `configuration` field is deprecated"

// faults collects messages of the engine, the providers and the program.
type faults struct {
	// own holds errors of resources, general holds other errors, and program holds what
	// the program printed.
	own, general, program []string

	// more counts the errors beyond mostFaults.
	more int
}

// add records a diagnostic, without secrets. It omits texts that only say that the update failed, and repeated texts.
func (f *faults) add(d *diagnostic, mask *message.Mask) {
	// The first mask finds secrets of several lines, before Tidy joins the lines. The
	// second finds secrets that only appear after the lines are joined.
	text := mask.Apply(d.Message)
	text = mask.Apply(message.Tidy(text[:min(len(text), longestFault)]))
	keep := func(list *[]string, text string) {
		switch {
		case len(*list) > 0 && (*list)[len(*list)-1] == text:
		case len(*list) < mostFaults:
			*list = append(*list, message.Shorten(text))
		case list != &f.program:
			f.more++
		}
	}
	switch {
	case text == "" || text == "update failed" || text == "preview failed" || strings.HasSuffix(text, ": no diagnostics"):
	case d.Severity == "error" && ResourceName(d.URN) != "":
		keep(&f.own, ResourceName(d.URN)+": "+text)
	case d.Severity == "error":
		keep(&f.general, text)
	case d.Severity == "info#err" && strings.HasPrefix(text, deprecated):
	case d.Severity == "info#err":
		keep(&f.program, text)
	}
}

// Fault describes a failure: by the first error of a resource, or else by the first other
// error, or else, unless the pulumi command printed an error itself, by what the program
// printed. Fault returns an empty string if the log has none of these. Call Fault after
// Read has returned.
func (l *Log) Fault(printed bool) string {
	errs := slices.Compact(slices.Concat(l.faults.own, l.faults.general))
	switch {
	case len(errs) > 1:
		return message.Shorten(fmt.Sprintf("%s (and %d more)", message.Shorten(errs[0]), len(errs)+l.faults.more-1))
	case len(errs) == 1:
		return message.Shorten(errs[0])
	case len(l.faults.program) > 0 && !printed:
		return message.Shorten(strings.TrimPrefix(strings.Join(l.faults.program, " "), "Error: "))
	}
	return ""
}

// ResourceName returns the name and type of a resource, or an empty string for the
// stack itself.
func ResourceName(urn string) string {
	parts := strings.SplitN(urn, "::", 4)
	if len(parts) != 4 {
		return ""
	}
	kind := parts[2][strings.LastIndexByte(parts[2], '$')+1:]
	if kind == stackType {
		return ""
	}
	return fmt.Sprintf("%s (%s)", parts[3], kind)
}
