package status

import (
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/terminal"
)

// Item is one object of the platform. Its JSON form is stable.
type Item struct {
	// Layer is the layer that creates the object. A team's sources and syncs count as the team's, although layer 2
	// creates them.
	Layer     string `json:"layer"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Ready     bool   `json:"ready"`
	Reason    string `json:"reason"`
	// Message is one line. For a cause it says the reason, who can fix it, and how.
	Message string `json:"message"`
	// Runtime is "process", "sandboxed" or "simulated" for pods of the local target, otherwise empty.
	Runtime string `json:"runtime"`
	// RootCause marks the only item that explains why the platform is not ready.
	RootCause bool `json:"rootCause"`
}

// Limits of text that teams choose, such as messages and some names, in characters.
const (
	longestRef     = 200
	longestMessage = 800
)

// Progressing reports whether an item is in progress or waits for another item, according to its own reason.
func (i Item) Progressing() bool { return slices.Contains(progressing, i.Reason) }

// AwaitsApproval reports whether an item waits for the approval of a person. Nothing has failed.
func (i Item) AwaitsApproval() bool { return i.Reason == ReasonAwaitingApproval }

// OfHop reports whether layer 2 creates an item that counts as a team's: the source or a sync of the team's hop.
func (i Item) OfHop() bool {
	return i.Layer == LayerTeam && slices.Contains([]string{"GitRepository", "OCIRepository", "Bucket", "Kustomization"}, i.Kind)
}

// Ref returns the item's kind and name, as in "Stack team-web/shop", safe to print.
func (i Item) Ref() string {
	return terminal.Line(i.Kind+" "+strings.TrimPrefix(i.Namespace+"/"+i.Name, "/"), longestRef)
}

// String returns the item as one line that is safe to print: its kind and name, and why it is not ready. It cuts a long
// line in the middle.
func (i Item) String() string {
	if i.Ready {
		return i.Ref()
	}
	if i.AwaitsApproval() {
		return i.Ref() + " " + i.why(longestMessage)
	}
	return i.Ref() + ": " + i.why(longestMessage)
}

// Cause returns the item like String, but names its layer too, unless it is the team's.
func (i Item) Cause() string {
	if i.Layer == LayerTeam || i.Kind == "Layer" {
		return i.String()
	}
	return strings.Replace(i.String(), i.Ref(), i.Ref()+" (layer "+i.Layer+")", 1)
}

// why returns why the item is not ready, as one line that is safe to print and has at most the given number of characters.
func (i Item) why(most int) string {
	reason := i.Reason
	if i.AwaitsApproval() {
		reason = "waits for approval"
	}
	return terminal.Line(strings.Trim(reason+": "+i.Message, ": "), most)
}

// urgency orders causes: failures, then what is in progress, then what waits for a person. Only the last are left when nothing happens
// any more.
func (i Item) urgency() int {
	switch {
	case i.AwaitsApproval():
		return 2
	case i.Progressing():
		return 1
	}
	return 0
}

// mark returns the sign that begins a line about the item, and its color.
func (i Item) mark() (sign, color string) {
	switch {
	case i.Ready:
		return "✓", green
	case i.AwaitsApproval():
		return "?", yellow
	}
	return "✗", red
}
