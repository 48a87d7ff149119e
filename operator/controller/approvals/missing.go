package approvals

import (
	"fmt"
	"slices"

	"github.com/strata-platform/strata/operator/plan"
)

// Missing returns what an approved plan of a Stack lacks to cover a run, or "". now is the plan of the run, needed are all its steps that
// need an approval, and unseen counts further ones that the preview did not keep.
//
// The approved plan must have the content and the state of the run, and each step that loses data. Whoever approves a plan with more steps
// than it shows consents to that many steps, if they lose no data.
func Missing(approved, now plan.Stack, needed []plan.Step, unseen int) string {
	switch {
	case approved.Failed:
		return "the Plan could not plan the Stack"
	case approved.Removed != now.Removed:
		return "the Plan is about another operation"
	case approved.Content == "":
		return "the program comes from a repository or an artifact, so only the Plan of the update itself covers it"
	case approved.Content != now.Content:
		return "the program, the config or the options have changed since"
	case approved.State != now.State:
		return "the Stack's resources have changed since"
	}
	left := slices.Clone(approved.Steps)
	for _, step := range needed {
		i := slices.IndexFunc(left, func(a plan.Step) bool { return includes(a, step) })
		switch {
		case i >= 0:
			left = slices.Delete(left, i, i+1)
		case step.LosesData:
			return fmt.Sprintf("it does not contain the step: %s %s %q", step.Op, step.Type, step.Name)
		default:
			unseen++
		}
	}
	if unseen > approved.More {
		return fmt.Sprintf("it does not contain %d of the changes", unseen-approved.More)
	}
	return ""
}

// includes reports whether an approved step is a step that would be taken now: the same operation on the same resource, for no further
// reason.
func includes(approved, now plan.Step) bool {
	if approved.Op != now.Op || approved.Type != now.Type || approved.Name != now.Name {
		return false
	}
	for _, field := range now.Fields {
		known := slices.ContainsFunc(approved.Fields, func(a plan.Field) bool { return a.Path == field.Path && a.Replaces })
		if field.Replaces && !known && approved.More == 0 {
			return false
		}
	}
	return true
}
