package gitserver

import (
	"fmt"
	"strings"

	"github.com/strata-platform/strata/internal/lint"
	"github.com/strata-platform/strata/internal/terminal"
)

// longestReason is the maximum number of characters of a reason in the output.
const longestReason = 400

// refusal is an error with the reasons that the client of a push sees.
type refusal struct{ reasons []string }

func (r *refusal) Error() string { return strings.Join(r.reasons, "; ") }

// refuse returns a refusal with one reason.
func refuse(format string, args ...any) error {
	return &refusal{reasons: []string{fmt.Sprintf(format, args...)}}
}

// refuseFor returns a refusal with the problems of a commit.
func refuseFor(commit string, problems ...lint.Problem) error {
	refused := &refusal{}
	for _, problem := range problems {
		refused.reasons = append(refused.reasons, fmt.Sprintf("commit %.10s: %s", commit, terminal.Line(problem.String(), longestReason)))
	}
	return refused
}
