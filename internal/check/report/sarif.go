package report

import (
	"io"

	"github.com/strata-platform/strata/internal/check"
	"github.com/strata-platform/strata/internal/sarif"
	"github.com/strata-platform/strata/internal/terminal"
)

// SARIF writes the findings as a SARIF log. Its URIs are relative to the root of the repository.
func SARIF(w io.Writer, result *check.Report) error {
	findings := make([]sarif.Finding, 0, len(result.Findings))
	for _, each := range result.Findings {
		findings = append(findings, sarif.Finding{
			Rule: each.Rule, Message: terminal.Line(each.Message+" ("+each.Fix+")", longest), File: each.File, Line: each.Line, Column: each.Column,
		})
	}
	return sarif.Write(w, "strata check", check.Rules, findings)
}
