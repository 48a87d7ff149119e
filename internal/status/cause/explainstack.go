package cause

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/operator/approval"
	"github.com/strata-platform/strata/teams"
)

func stackExplanations() []explanation {
	return []explanation{
		{"a Stack waits for an approval", func(e *explainer, o *graph.Object) (string, string, string) {
			if !o.AwaitsApproval() {
				return "", "", ""
			}
			// The command of this platform names its home.
			why, _, can := strings.Cut(o.Message, approval.ToApprove)
			if !can {
				return o.Message, "", "correct it and push"
			}
			return why, "an approver", "run " + e.Scope.Command("approve", o.Text("status", "approval", "plan"), "--team", strings.TrimPrefix(o.Namespace, teams.Team{}.Namespace()))
		}},
		{"Google Cloud denies a permission that no layer grants", func(e *explainer, o *graph.Object) (string, string, string) {
			permission := deniedPermission(o)
			if o.Kind != "Stack" || permission == "" {
				return "", "", ""
			}
			return fmt.Sprintf("%s: no layer grants %s to the team's Google account (role %s)", o.Message, permission, bootstrap.TenantRole), "",
				"remove the resource from the Program, or ask " + e.contact(o.Namespace)
		}},
		{"a Stack refers to a key that its team's context does not have", func(_ *explainer, o *graph.Object) (string, string, string) {
			return misnamed(o), "", "correct it and push"
		}},
		{"a Stack waits for its next run", func(_ *explainer, o *graph.Object) (string, string, string) {
			if o.Kind != "Stack" || o.Reason != "StackProcessing" && o.Reason != status.ReasonProgressing {
				return "", "", ""
			}
			return cmp.Or(o.Message, "it runs"), "", ""
		}},
		{"a Stack or Program fails", func(e *explainer, o *graph.Object) (string, string, string) {
			if o.Kind != "Stack" && o.Kind != "Program" {
				return "", "", ""
			}
			if strings.Contains(o.Message, "ask "+e.contact(o.Namespace)) {
				return o.Message, "", "correct it and push"
			}
			return o.Message, "", "correct the Program or the Stack and push" + e.log(o)
		}},
	}
}

// log returns the end of a sentence that names the log of a Stack's failed run. Only the embedded operator keeps logs; only this operator
// sets the digest of an update's inputs.
func (e *explainer) log(o *graph.Object) string {
	if o.Kind != "Stack" || o.Text("status", "lastUpdate", "state") != "failed" || o.Text("status", "lastUpdate", "inputs") == "" {
		return ""
	}
	return "; log: " + e.Scope.Command("logs", "stack/"+o.Name)
}

// contact returns the contact in a team's TenantPolicy, or the platform team.
func (e *explainer) contact(namespace string) string {
	for _, policy := range e.All("TenantPolicy", namespace) {
		if contact := policy.Text("spec", "contact"); contact != "" {
			return contact
		}
	}
	return graph.PlatformTeam
}
