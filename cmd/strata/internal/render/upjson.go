package render

import (
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/workloads"
)

// UpResult is the output of `up -o json`.
type UpResult struct {
	status.Report
	Steps []upStep `json:"steps"`
	workloads.List
}

// upStep is a step in the output of `up -o json`.
type upStep struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// NewUp returns the output of `up -o json`: a report, the steps that a reporter has shown, and the workloads.
func NewUp(report status.Report, show *progress.Reporter, found workloads.List) UpResult {
	var steps []upStep
	for _, s := range show.Steps() {
		steps = append(steps, upStep{Name: s.Name, Seconds: s.Elapsed.Seconds()})
	}
	return UpResult{report, steps, found}
}
