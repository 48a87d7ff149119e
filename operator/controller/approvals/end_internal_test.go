package approvals

import (
	"testing"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/approval"
)

// TestOnlyAnApprovalEndsADemand ends runs of a Stack whose last update demanded approval of every change. A commit that withdraws the
// annotation and changes nothing else needs no approval, and must not free the next commit from it.
func TestOnlyAnApprovalEndsADemand(t *testing.T) {
	for _, tc := range []struct {
		name                      string
		annotated, held, approved bool
		want                      string
	}{
		{"nothing was demanded", false, false, false, ""},
		{"the annotation is there", true, true, true, approval.Always},
		{"the annotation is withdrawn without an approval", false, true, false, approval.Always},
		{"the annotation is withdrawn with an approval", false, true, true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &Pass{Gate: New(nil, nil), Run: Run{Stack: &v1.Stack{}}, annotated: tc.annotated, held: tc.held}
			p.Stack.Status.LastUpdate = &v1.StackUpdateState{}
			if tc.approved {
				p.given = &approval.Approval{}
			}
			p.End(t.Context(), true)
			if got := p.Stack.Status.LastUpdate.Approval; got != tc.want {
				t.Errorf("the demand is %q, want %q", got, tc.want)
			}
		})
	}
}
