package render

import "github.com/strata-platform/strata/internal/lifecycle"

// Plan is a plan of down as a document.
type Plan struct {
	Steps []PlanStep `json:"steps"`
	// Lost, Unknown and Stays are those of [lifecycle.Plan].
	Lost    []string `json:"lost"`
	Unknown string   `json:"unknown,omitempty"`
	Stays   string   `json:"stays,omitempty"`
}

// PlanStep is a step of a plan.
type PlanStep struct {
	Name string `json:"name"`
	// What describes the work of the step; empty if unknown.
	What string `json:"what,omitempty"`
}

// NewPlan returns a plan as a document.
func NewPlan(p lifecycle.Plan) Plan {
	document := Plan{Steps: []PlanStep{}, Lost: append([]string{}, p.Lost...), Unknown: p.Unknown, Stays: p.Stays}
	for _, step := range p.Steps {
		document.Steps = append(document.Steps, PlanStep{Name: step.Name, What: step.What})
	}
	return document
}
