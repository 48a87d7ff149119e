package report

import (
	"io"
	"strings"

	"github.com/strata-platform/strata/internal/audit"
	"github.com/strata-platform/strata/internal/audit/acts"
	"github.com/strata-platform/strata/internal/sarif"
)

// pathRule is the ID of the rule about unexpected paths.
const pathRule = "unexpected-path"

// SARIF writes what is unexpected as a SARIF log. Its places are identities.
func SARIF(w io.Writer, r *Report) error {
	rules := map[string]string{pathRule: "no identity becomes another, except as the design says"}
	for _, entry := range acts.Catalogue() {
		rules[entry.ID] = "Nobody may " + entry.What + ", except as the design says: " + entry.Why
	}
	var found []sarif.Finding
	for _, result := range r.Results {
		switch result.Outcome {
		case audit.Unexpected:
			found = append(found, sarif.Finding{Rule: result.Act, Message: line(result.Identity + " may " + result.What + on(result)), Name: line(result.Identity)})
		case audit.Failed:
			found = append(found, sarif.Finding{Rule: result.Act, Message: line(result.Identity + ", " + result.What + on(result) + ": no answer: " + result.Message), Name: line(result.Identity)})
		}
	}
	for _, path := range r.Paths {
		if path.Expected {
			continue
		}
		var steps []string
		for _, step := range path.Steps {
			steps = append(steps, step.From+" "+step.By)
		}
		found = append(found, sarif.Finding{Rule: pathRule, Message: line(chain(path) + ": " + strings.Join(steps, "; ")), Name: line(path.Identity)})
	}
	return sarif.Write(w, "strata audit", rules, found)
}
