package operator_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/test/long"
)

// right is one permission of an account.
type right struct{ verb, group, resource string }

func (r right) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s.%s", r.verb, r.resource, r.group), ".")
}

// operatorRoles are the operator's roles: for all namespaces, for a team's namespace, and for its own.
var operatorRoles = map[string][]rbacv1.PolicyRule{
	platform.RoleOperator:       platform.ClusterRoles()[platform.RoleOperator],
	platform.RoleOperatorTenant: platform.ClusterRoles()[platform.RoleOperatorTenant],
	roleOwn:                     platform.OperatorRole(),
}

// rightsOf returns the permissions of a role.
func rightsOf(role string) []right {
	var all []right
	for _, rule := range operatorRoles[role] {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, right{verb, group, resource})
				}
			}
		}
	}
	return all
}

func (c call) right() right {
	resource := c.Resource.Resource
	if c.Resource.Subresource != "" {
		resource += "/" + c.Resource.Subresource
	}
	return right{c.Verb, c.Resource.Group, resource}
}

// begin creates a Stack that needs most of the operator's permissions, in a team of its own: the Stack uses every kind of
// reference.
func begin(t *testing.T, c *cluster) *team {
	t.Helper()
	tm := newTeam(t, c)
	tm.begin(t)
	return tm
}

func (tm *team) begin(t *testing.T) {
	t.Helper()
	tm.withSecrets(t)
	tm.create(t, &corev1.ConfigMap{ObjectMeta: tm.meta("plan"), Data: map[string]string{"plan": "a"}})
	tm.apply(t, &v1.Program{}, `
metadata: {name: rights}
program:
  configuration: {password: {type: String}, plan: {type: String}}
  outputs: {plan: "${plan}"}
`)
	tm.apply(t, &v1.Stack{}, secretStackOf("rights")+"  configRef: {plan: {name: plan, key: plan}}\n")
}

// end waits until the Stack is ready, and deletes everything.
func (tm *team) end(t *testing.T) {
	t.Helper()
	stack := tm.await(t, "rights", "Ready", ready)
	if err := tm.Delete(t.Context(), stack); err != nil {
		t.Fatal(err)
	}
	tm.await(t, "rights", "gone", gone)
}

// TestTheOperatorHasTheRightsThatItUsesAndNoOthers compares the roles with the requests that the API server logs.
func TestTheOperatorHasTheRightsThatItUsesAndNoOthers(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	_, since := c.calls(t, 0)
	o := startOperator(t, c)
	tm := begin(t, c)
	// A changed input triggers another run.
	tm.await(t, "rights", "Ready", ready)
	login := &corev1.Secret{ObjectMeta: tm.meta("login")}
	if err := tm.Patch(t.Context(), login, client.RawPatch(types.MergePatchType, []byte(`{"stringData":{"env":"canary-env-2"}}`))); err != nil {
		t.Fatal(err)
	}
	plan := &corev1.ConfigMap{}
	if err := tm.Get(t.Context(), client.ObjectKey{Namespace: tm.namespace, Name: "plan"}, plan); err != nil {
		t.Fatal(err)
	}
	plan.Data["plan"] = "b"
	if err := tm.Update(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	tm.await(t, "rights", "run again", func(s *v1.Stack) bool { return ready(s) && string(s.Status.Outputs["plan"].Raw) == `"b"` })
	tm.misspell(t)
	eventually(t, "an event is counted", func() error {
		tm.wakeUp(t)
		calls, _ := c.calls(t, since)
		for _, call := range calls {
			if call.right() == countEvent {
				return nil
			}
		}
		return errors.New("it is not")
	})
	tm.end(t)
	o.stop(t)

	calls, _ := c.calls(t, since)
	used := map[right]bool{}
	for _, call := range calls {
		// A run makes its requests as the Stack's account, so the operator itself must never be refused.
		if call.Status.Code == http.StatusForbidden {
			t.Errorf("%v of %s/%s is refused", call.right(), call.Resource.Namespace, call.Resource.Name)
		}
		used[call.right()] = true
	}
	if len(used) == 0 {
		t.Fatal("the audit log has no call of the operator")
	}
	for role := range operatorRoles {
		for _, r := range rightsOf(role) {
			// An API server that streams lists receives no list requests.
			streamed := r.verb == "list" && used[right{"watch", r.group, r.resource}]
			// This cluster does not have these kinds. The test that removes permissions covers them.
			if !used[r] && !streamed && r.group != fluxGroup && r.group != policyGroup {
				t.Errorf("the role %s allows to %v, which the operator never does", role, r)
			}
		}
	}
	if t.Failed() {
		t.Logf("it does %v", slices.Collect(maps.Keys(used)))
	}
}
