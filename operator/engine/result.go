package engine

import "github.com/strata-platform/strata/operator/engine/events"

// Result is the result of a successful run.
type Result struct {
	// Project and Runtime are the project's name and language.
	Project, Runtime string

	// Revision is the revision that the Source returned.
	Revision string

	// Outputs holds the stack's outputs by name.
	Outputs map[string]events.Output

	// Changes counts the resources by the step that Pulumi took: create, update, delete,
	// same and so on.
	Changes map[string]int

	// Drifted lists the resources that a Drift found to differ, at most 50. MoreDrifted counts the others.
	Drifted     []events.Drifted
	MoreDrifted int

	// Plan is the result of a Plan operation, and nil for other operations.
	Plan *events.Plan

	// State is what an Export found, as `pulumi stack export` prints it.
	State []byte

	// Log is the end of pulumi's output.
	Log string

	// Warnings lists, in one line each, what somebody should check: resources of an
	// interrupted run that may exist although the state does not list them.
	Warnings []string
}
