package render

import (
	"io"

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

// UpJSON prints the output of `up -o json`: a report, the steps that a reporter has shown, and the workloads.
func UpJSON(w io.Writer, report status.Report, show *progress.Reporter, found workloads.List) error {
	var steps []upStep
	for _, s := range show.Steps() {
		steps = append(steps, upStep{Name: s.Name, Seconds: s.Elapsed.Seconds()})
	}
	return JSON(w, UpResult{report, steps, found})
}
