// Package drift decides when a Stack is checked for drift, and records the result of a check in the Stack's status. Drift is a
// difference between the Stack's resources and what its last update left.
package drift

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/report"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/events"
)

// Every is the default interval between two checks of a Stack.
const Every = time.Hour

// Due reports whether a check of the Stack is due. Otherwise Due returns the time until the next one; zero means that the Stack
// is not checked. A check is due when its annotation changes, and otherwise after the interval every since the last check or
// update. An update after a check that has found drift makes a check due at once. An interval of zero means on request only.
func Due(stack *v1.Stack, every time.Duration, now time.Time) (due bool, wait time.Duration) {
	last, before := stack.Status.LastUpdate, stack.Status.Drift
	if last == nil || stack.Status.ProjectInfo == nil || last.State != v1.SucceededStackStateMessage || last.Type != v1.UpType && last.Type != v1.RefreshType {
		return false, 0
	}
	requested := stack.Annotations[v1.DriftRequestAnnotation]
	if requested != "" && (before == nil || before.Request != requested) {
		return true, 0
	}
	if every == 0 {
		return false, 0
	}
	since := last.LastResyncTime.Time
	if before != nil {
		if Found(before) && since.After(before.Time.Time) {
			return true, 0
		}
		since = before.Time.Time
	}
	wait = since.Add(every).Sub(now)
	return wait <= 0, max(0, wait)
}

// Found reports whether a check has found drift.
func Found(d *v1.StackDrift) bool { return d != nil && len(d.Resources) > 0 }

// Record writes the result of a check into the Stack's status: result if err is nil. It returns a message if the Stack has
// drifted and had not before, and an empty message otherwise.
func Record(stack *v1.Stack, result *engine.Result, err error) (message string) {
	status := &stack.Status
	before := status.Drift
	now := &v1.StackDrift{Time: metav1.Now(), Request: stack.Annotations[v1.DriftRequestAnnotation]}
	status.Drift = now
	if err != nil {
		now.Message = report.Cut(err.Error(), report.LongestNote)
		if before != nil {
			// What an earlier check found is true until a check says otherwise.
			now.Resources, now.More = before.Resources, before.More
		}
		status.MarkDrift(v1.DriftCheckFailedReason, "the check failed: "+now.Message)
		return ""
	}
	for _, each := range result.Drifted {
		now.Resources = append(now.Resources, resource(each))
	}
	now.More = result.MoreDrifted
	if !Found(now) {
		status.MarkDrift(v1.NoDriftReason, "the resources are as the last update left them")
		return ""
	}
	message = Message(now)
	status.MarkDrift(v1.DriftFoundReason, message)
	if Found(before) {
		return ""
	}
	return message
}

func resource(d events.Drifted) v1.DriftedResource {
	converted := v1.DriftedResource{Name: d.Name, Type: d.Type, Missing: d.Missing, More: d.More}
	for _, field := range d.Fields {
		converted.Fields = append(converted.Fields, v1.DriftedField(field))
	}
	return converted
}

// shown bounds the resources in a message.
const shown = 3

// Message describes what a check has found in one line.
func Message(d *v1.StackDrift) string {
	var parts []string
	for i := range d.Resources[:min(len(d.Resources), shown)] {
		parts = append(parts, describe(&d.Resources[i]))
	}
	if more := len(d.Resources) + d.More - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, "; ")
}

func describe(r *v1.DriftedResource) string {
	name := fmt.Sprintf("%s (%s)", r.Name, r.Type)
	switch {
	case r.Missing:
		return name + " no longer exists"
	case len(r.Fields) == 0:
		return name + " differs"
	}
	text := name + ": " + Differs(r.Fields[0])
	if more := len(r.Fields) + r.More - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more fields)", more)
	}
	return text
}

// Differs describes in one line how a field differs.
func Differs(f v1.DriftedField) string {
	switch {
	case f.Wanted == f.Found:
		// Both are secrets, or too long to be shown completely.
		return f.Path + " differs"
	case f.Found == "":
		return fmt.Sprintf("%s is gone, wanted %s", f.Path, f.Wanted)
	case f.Wanted == "":
		return fmt.Sprintf("%s is %s, wanted none", f.Path, f.Found)
	}
	return fmt.Sprintf("%s is %s, wanted %s", f.Path, f.Found, f.Wanted)
}
