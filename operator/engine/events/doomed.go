package events

import (
	"crypto/sha256"
	"strings"

	"github.com/strata-platform/strata/operator/engine/bounds"
	"github.com/strata-platform/strata/operator/plan"
)

// mostReplaced bounds the replacements of a preview, and the deletions that belong to them. Every one of them is remembered.
const mostReplaced = 50_000

// deleteReplaced is the operation of Pulumi that deletes the old resource of a replacement.
const deleteReplaced = "delete-replaced"

// doomed collects the resources that a preview deletes for a replacement. Most of them belong to a step "replace" of the same preview. The
// others are deletions like any other, although Pulumi gives them another name: what an earlier, failed replacement has left, and what is
// deleted before the replacement of a resource that it depends on, if the program no longer contains it.
type doomed struct {
	// replaced holds the old resources of replacements.
	replaced map[resourceKey]bool

	// deleted are the resources that are deleted, in Pulumi's order.
	deleted []doomedResource
}

// resourceKey identifies the resource that a step deletes or replaces. A state can contain several resources with one URN, so the ID counts.
type resourceKey [sha256.Size]byte

type doomedResource struct {
	key  resourceKey
	step PlannedStep
}

func (s *step) key() resourceKey {
	id := ""
	if s.Old != nil {
		id = s.Old.ID
	}
	return sha256.Sum256([]byte(s.URN + "\n" + id))
}

// note records a step of a replacement. The error is a [*bounds.Error] if there are too many.
func (d *doomed) note(s *step) error {
	switch {
	case s.Op == "replace" || s.Op == "import-replacement":
		if d.replaced == nil {
			d.replaced = map[resourceKey]bool{}
		}
		d.replaced[s.key()] = true
	case s.Op == deleteReplaced && !inStateOnly(s.Type):
		d.deleted = append(d.deleted, doomedResource{s.key(), PlannedStep{Op: "delete", Name: cut(nameOf(s.URN)), Type: cut(s.Type)}})
	}
	if len(d.replaced) > mostReplaced || len(d.deleted) > mostReplaced {
		return bounds.Exceeded("the run replaces more than %d resources: split the stack", mostReplaced)
	}
	return nil
}

// rest returns the deletions that belong to no replacement of the preview.
func (d *doomed) rest() []PlannedStep {
	var steps []PlannedStep
	for _, each := range d.deleted {
		if !d.replaced[each.key] {
			steps = append(steps, each.step)
		}
	}
	return steps
}

// inStateOnly reports whether the resources of a type exist in the state only.
func inStateOnly(resourceType string) bool {
	return resourceType == stackType || strings.HasPrefix(resourceType, "pulumi:providers:")
}

func nameOf(urn string) string {
	name, _, _ := strings.Cut(ResourceName(urn), " (")
	return name
}

// room reports whether the plan keeps one more step.
func (p *Plan) room(op, resourceType string) bool {
	most := mostPlanned
	switch {
	case plan.LosesData(op, resourceType):
		most = mostSteps
	case op == "delete" || op == "replace":
		most = mostDestroyed
	}
	return len(p.Steps) < most
}
