// Package shape sets the options of a run from the spec of its Stack.
package shape

import (
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/fields"
	"github.com/strata-platform/strata/operator/engine"
)

// Update sets the operation and the options for an update. The update template comes last, because it overrides the other fields of
// the spec.
func Update(spec *v1.StackSpec, req *engine.Request) {
	req.Operation = engine.Up
	if spec.Preview {
		req.Operation = engine.Preview
	}
	req.Refresh, req.ExpectNoRefreshChanges = spec.Refresh, spec.ExpectNoRefreshChanges
	req.Targets, req.TargetDependents = spec.Targets, spec.TargetDependents
	template := fields.Update(spec)
	if template.Type != nil && !spec.Preview {
		req.Operation = engine.Operation(*template.Type)
	}
	if template.Target != nil {
		req.Targets = template.Target
	}
	set(&req.TargetDependents, template.TargetDependents)
	set(&req.Refresh, template.Refresh)
	req.Options.Replace = template.Replace
	set(&req.Options.ExpectNoChanges, template.ExpectNoChanges)
	Any(spec, req)
}

// Any sets the options that apply to both an update and a destroy.
func Any(spec *v1.StackSpec, req *engine.Request) {
	template := fields.Update(spec)
	if template.Parallel != nil {
		req.Options.Parallel = int(*template.Parallel)
	}
	set(&req.Options.Message, template.Message)
	set(&req.Options.ContinueOnError, template.ContinueOnError)
	set(&req.Options.Remove, template.Remove)
	set(&req.RunProgram, template.RunProgram)
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
