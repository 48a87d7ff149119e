package policies_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// aPlan and aDestroy are what an Approval approves.
const (
	aPlan    = "plan: {name: stack.shop, uid: a, digest: 'sha256:0123456789012345678901234567890123456789012345678901234567890123'}"
	aDestroy = "destroy: [{name: shop, uid: a}]"
)

func approvalBy(user, of string) string {
	return fmt.Sprintf("{apiVersion: strata.dev/v1, kind: Approval, metadata: {name: x}, spec: {by: %q, %s}}", user, of)
}

// testApprovals approves as users who may, in the namespace of the team web, and as others.
func testApprovals(t *testing.T, c *cluster) {
	const web, alice, bob = "system:serviceaccount:team-web:web", "alice@example.com", "bob@example.com"
	users := map[string]client.Client{
		web: c.as(t, namespace, "web"), alice: c.user(t, alice), bob: c.user(t, bob, "dbas@example.com"), "carol": c.user(t, "carol"),
		"admin": c.user(t, "admin", "system:masters"),
	}
	eventually(t, "there is a policy for approvals", func() error {
		object := parse(t, approvalBy("somebody", aPlan))
		object.SetNamespace(namespace)
		return refusedBy(users[alice].Create(t.Context(), object, client.DryRunAll), "strata-approvals", "strata-approvals",
			"spec.by is somebody, and you are "+alice+": nobody can approve in the name of somebody else")
	})
	for name, tc := range map[string]struct {
		as, manifest, namespace string
		// refusal is what the policy says, or "forbidden" if RBAC refuses the request.
		refusal string
	}{
		"a user of teams.yaml":                  {alice, approvalBy(alice, aPlan), namespace, ""},
		"a member of a group":                   {bob, approvalBy(bob, aPlan), namespace, ""},
		"the team's account, if it may":         {web, approvalBy(web, aPlan), namespace, ""},
		"the administrator":                     {"admin", approvalBy("admin", aDestroy), namespace, ""},
		"in somebody else's name":               {alice, approvalBy("admin", aPlan), namespace, "spec.by is admin, and you are " + alice},
		"the team in another's name":            {web, approvalBy(alice, aPlan), namespace, "nobody can approve in the name of somebody else"},
		"the administrator for a user":          {"admin", approvalBy(alice, aPlan), namespace, "spec.by is " + alice + ", and you are admin"},
		"a destroy without a Plan":              {alice, approvalBy(alice, aDestroy), namespace, "spec.destroy is for those who may delete the namespace team-web"},
		"a destroy by the team":                 {web, approvalBy(web, aDestroy), namespace, "approve the Plan of the Stack instead"},
		"somebody else":                         {"carol", approvalBy("carol", aPlan), namespace, "forbidden"},
		"in another team's namespace":           {alice, approvalBy(alice, aPlan), ofNames, "forbidden"},
		"a team that the platform did not name": {"names", approvalBy("system:serviceaccount:team-names:web", aPlan), ofNames, "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			as := users[tc.as]
			if tc.as == "names" {
				as = c.as(t, ofNames, "web")
			}
			object := parse(t, tc.manifest)
			object.SetNamespace(tc.namespace)
			err := as.Create(t.Context(), object, client.DryRunAll)
			switch tc.refusal {
			case "":
				if err != nil {
					t.Errorf("%v, want it accepted", err)
				}
			case "forbidden":
				if !apierrors.IsForbidden(err) || refusedBy(err, "strata-approvals", "strata-approvals", "") == nil {
					t.Errorf("%v, want forbidden", err)
				}
			default:
				if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "'strata-approvals' denied request: ") || !strings.Contains(err.Error(), tc.refusal) {
					t.Errorf("%v, want %q", err, tc.refusal)
				}
			}
		})
	}
}
