package operator_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/approval"
	"github.com/strata-platform/strata/operator/controller/plans"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/operator/stacklog"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/test/long"
)

// countEvent is needed when an event repeats for an unchanged Stack.
var countEvent = right{"patch", "events.k8s.io", "events"}

// createPlan is needed for the Plan of a Stack that waits for an approval.
var createPlan = right{"create", plan.Group, plan.Plural}

// watchPlans follows the list of Plans.
var watchPlans = right{"watch", plan.Group, plan.Plural}

// plan creates a Plan that the operator refuses, because its account is none of the team's.
func (tm *team) plan(t *testing.T, name string) {
	t.Helper()
	p := plan.Plan{ObjectMeta: tm.meta(name), Spec: plan.Spec{Commit: strings.Repeat("0", 40), Account: "nobody", Manifests: "{}"}}
	object, err := p.Object()
	if err != nil {
		t.Fatal(err)
	}
	tm.create(t, object)
}

// policyResource is the resource of TenantPolicies.
const policyResource = "tenantpolicies"

// createEvent is needed for a new event. The operator does not repeat a rejected event.
var createEvent = right{"create", "events.k8s.io", "events"}

// TestTheOperatorNeedsEachOfItsRights removes each permission, waits until the API server denies a request because of
// it, and checks that the operator recovers by itself once it has the permission again.
func TestTheOperatorNeedsEachOfItsRights(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	c.installKinds(t)
	o := startOperator(t, c)
	t.Run("in a team's namespace", func(t *testing.T) { takeInTeams(t, c) })
	t.Run("in its own namespace", func(t *testing.T) { takeInOwnNamespace(t, c) })
	t.Run("everywhere", func(t *testing.T) { takeEverywhere(t, c, o) })
}

// takeInTeams removes each permission in a team's namespace, each in a team of its own, all at the same time.
func takeInTeams(t *testing.T, c *cluster) {
	rights := rightsOf(platform.RoleOperatorTenant)
	teams := make([]*team, len(rights))
	_, since := c.calls(t, 0)
	for i, taken := range rights {
		tm := newTeam(t, c)
		teams[i] = tm
		tm.setRights(t, without(platform.RoleOperatorTenant, taken))
		c.awaitRight(t, taken, tm.namespace, false)
		switch {
		case taken.group == fluxGroup:
			tm.apply(t, &v1.Stack{}, fluxStackOf(taken.resource))
		case taken.resource == policyResource:
			// If the context is missing, the operator reads the TenantPolicy to find out who provides it.
			if err := tm.Delete(t.Context(), &corev1.Secret{ObjectMeta: tm.meta("context")}); err != nil {
				t.Fatal(err)
			}
			tm.begin(t)
		case taken.resource == approval.Plural, taken == createPlan:
			// The operator creates the Plan of a Stack that waits for an approval, and looks for the approval.
			tm.demand(t)
		case taken.group == plan.Group && strings.HasPrefix(taken.resource, plan.Plural):
			// The operator writes the status of each Plan, and deletes those beyond the newest.
			for n := range plans.Kept + 1 {
				tm.plan(t, fmt.Sprintf("plan-%d", n))
			}
		case taken == countEvent:
			tm.create(t, &corev1.ConfigMap{ObjectMeta: tm.meta("plan"), Data: map[string]string{"plan": "a"}})
			tm.misspell(t)
		default:
			tm.begin(t)
		}
	}
	before := make([]int, len(rights))
	for i, taken := range rights {
		teams[i].awaitRefused(t, taken, teams[i].namespace, since)
		_, before[i] = c.calls(t, since)
		teams[i].setRights(t, operatorRoles[platform.RoleOperatorTenant])
		c.awaitRight(t, taken, teams[i].namespace, true)
	}
	for i, taken := range rights {
		t.Run("without "+taken.String(), func(t *testing.T) {
			// The operator sends a rejected event again only after half an hour.
			if taken == countEvent {
				return
			}
			switch {
			case taken == createEvent:
				teams[i].misspell(t)
			case taken.resource == stacklog.Plural:
				// The operator writes the log of each run once.
				teams[i].hurry(t)
			}
			teams[i].awaitAllowed(t, taken, teams[i].namespace, before[i])
			if taken.resource == policyResource || taken.resource == approval.Plural || taken == createPlan {
				return // This Stack still waits.
			}
			if err := teams[i].Get(t.Context(), client.ObjectKey{Namespace: teams[i].namespace, Name: "rights"}, &v1.Stack{}); err == nil {
				teams[i].await(t, "rights", "Ready", ready)
			}
		})
	}
}

// takeInOwnNamespace takes a Stack through its life. For each step the operator needs another permission for its records.
func takeInOwnNamespace(t *testing.T, c *cluster) {
	tm := newTeam(t, c)
	stack := &v1.Stack{ObjectMeta: tm.meta("rights")}
	for _, step := range []struct {
		verb string
		do   func()
	}{
		{"create", func() { tm.begin(t) }},
		{"patch", func() {
			tm.await(t, "rights", "Ready", ready)
			change := client.RawPatch(types.MergePatchType, []byte(`{"stringData":{"env":"canary-env-2"}}`))
			if err := tm.Patch(t.Context(), &corev1.Secret{ObjectMeta: tm.meta("login")}, change); err != nil {
				t.Fatal(err)
			}
		}},
		// The objects that the Stack refers to are deleted before it.
		{"get", func() {
			tm.await(t, "rights", "Ready", ready)
			for _, object := range []client.Object{&corev1.Secret{ObjectMeta: tm.meta("login")}, stack} {
				if err := tm.Delete(t.Context(), object); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{"delete", func() {}},
	} {
		taken := right{step.verb, "", "secrets"}
		t.Run("without "+taken.String(), func(t *testing.T) {
			_, since := c.calls(t, 0)
			back := c.take(t, roleOwn, taken)
			step.do()
			tm.awaitRefused(t, taken, platform.OperatorNamespace, since)
			back()
			tm.hurry(t)
		})
	}
	tm.await(t, "rights", "gone", gone)
}

// takeEverywhere removes the permissions of the operator that apply to all namespaces.
func takeEverywhere(t *testing.T, c *cluster, o *operator) {
	stacks, programs := right{"get", "pulumi.com", "stacks"}, right{"get", "pulumi.com", "programs"}
	for _, taken := range []right{stacks, programs} {
		t.Run("without "+taken.String(), func(t *testing.T) {
			_, since := c.calls(t, 0)
			back := c.take(t, platform.RoleOperator, taken)
			tm := begin(t, c)
			tm.awaitRefused(t, taken, tm.namespace, since)
			back()
			tm.hurry(t)
			tm.await(t, "rights", "Ready", ready)
		})
	}
	// An existing watch would continue, so the operator must restart. It sends a list request if the API server rejects a
	// watch that streams the initial state.
	t.Run("without list and watch", func(t *testing.T) {
		var taken []right
		for _, r := range rightsOf(platform.RoleOperator) {
			if r.verb != "get" {
				taken = append(taken, r)
			}
		}
		o.kill(t)
		_, since := c.calls(t, 0)
		back := c.take(t, platform.RoleOperator, taken...)
		o.again(t)
		tm := begin(t, c)
		for _, r := range taken {
			if r == watchPlans {
				// The operator lists Plans before it watches them.
				continue
			}
			tm.awaitRefused(t, r, "", since)
		}
		back()
		tm.await(t, "rights", "Ready", ready)
	})
}

// demand starts a Stack whose first update needs an approval, because it creates a resource.
func (tm *team) demand(t *testing.T) {
	t.Helper()
	tm.withSecrets(t)
	tm.apply(t, &v1.Program{}, `
metadata: {name: rights}
program:
  resources:
    login: {type: "kubernetes:core/v1:Secret", properties: {stringData: {plan: a}}}
`)
	stack := strings.Replace(stackOf("rights", "rights"), "{name: rights}", "{name: rights, annotations: {strata.dev/approval: always}}", 1)
	tm.apply(t, &v1.Stack{}, stack)
}

// hurry skips the wait before the operator's next retry.
func (tm *team) hurry(t *testing.T) {
	t.Helper()
	change := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`,
		v1.ReconcileRequestAnnotation, time.Now().UnixNano()))
	if err := client.IgnoreNotFound(tm.Patch(t.Context(), &v1.Stack{ObjectMeta: tm.meta("rights")}, change)); err != nil {
		t.Fatal(err)
	}
}

// take removes permissions from a role until the returned function is called.
func (c *cluster) take(t *testing.T, role string, taken ...right) (back func()) {
	t.Helper()
	namespace := ""
	if role == roleOwn {
		namespace = platform.OperatorNamespace
	}
	set := func(rules []rbacv1.PolicyRule, has bool) {
		t.Helper()
		object := &rbacv1.ClusterRole{Rules: rules}
		object.Name = role
		// A failed test must restore the permissions, too.
		if err := c.Update(context.WithoutCancel(t.Context()), object); err != nil {
			t.Error(err)
		}
		for _, r := range taken {
			if t.Context().Err() == nil {
				c.awaitRight(t, r, namespace, has)
			}
		}
	}
	given := false
	back = func() {
		if !given {
			given = true
			set(operatorRoles[role], true)
		}
	}
	t.Cleanup(back)
	set(without(role, taken...), false)
	return back
}

// without returns the rules of a role without some permissions.
func without(role string, taken ...right) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
next:
	for _, r := range rightsOf(role) {
		for _, away := range taken {
			if r == away {
				continue next
			}
		}
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.resource}, Verbs: []string{r.verb}})
	}
	return rules
}

// setRights grants the operator exactly these permissions in the team's namespace.
func (tm *team) setRights(t *testing.T, rules []rbacv1.PolicyRule) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: tm.meta("operator"), Rules: rules}
	binding := &rbacv1.RoleBinding{ObjectMeta: tm.meta("operator")}
	if err := tm.Get(t.Context(), client.ObjectKeyFromObject(role), &rbacv1.Role{}); err == nil {
		if err := tm.Update(t.Context(), role); err != nil {
			t.Fatal(err)
		}
		return
	}
	// The roleRef of a binding is immutable.
	if err := tm.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}
	binding.Subjects = account(platform.OperatorNamespace, platform.OperatorAccount)
	tm.create(t, role, binding)
}

// awaitRight waits until the API server grants or denies a permission to the operator: a changed role takes effect after
// a moment.
func (c *cluster) awaitRight(t *testing.T, r right, namespace string, has bool) {
	t.Helper()
	resource, subresource, _ := strings.Cut(r.resource, "/")
	eventually(t, fmt.Sprintf("the right to %v in namespace %q is %v", r, namespace, has), func() error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + platform.OperatorNamespace + ":" + platform.OperatorAccount,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: r.verb, Group: r.group, Resource: resource, Subresource: subresource,
			},
		}}
		if err := c.Create(t.Context(), review); err != nil {
			return err
		}
		if review.Status.Allowed != has {
			return fmt.Errorf("it is %v: %s", review.Status.Allowed, review.Status.Reason)
		}
		return nil
	})
}

// awaitRefused waits until the API server has denied a request that needs a permission.
func (tm *team) awaitRefused(t *testing.T, r right, namespace string, since int) {
	t.Helper()
	tm.awaitCall(t, "is denied to", r, namespace, since, func(code int) bool { return code == http.StatusForbidden })
}

// awaitAllowed waits until the API server has allowed a request that needs a permission.
func (tm *team) awaitAllowed(t *testing.T, r right, namespace string, since int) {
	t.Helper()
	tm.awaitCall(t, "is allowed to", r, namespace, since, func(code int) bool { return code != http.StatusForbidden })
}

func (tm *team) awaitCall(t *testing.T, what string, r right, namespace string, since int, wanted func(code int) bool) {
	t.Helper()
	eventually(t, fmt.Sprintf("the operator %s %v", what, r), func() error {
		if r == countEvent {
			tm.wakeUp(t)
		}
		calls, _ := tm.calls(t, since)
		for _, call := range calls {
			if call.right() == r && call.Resource.Namespace == namespace && wanted(call.Status.Code) {
				return nil
			}
		}
		return fmt.Errorf("none of %d calls matches", len(calls))
	})
}

// misspell creates an invalid Stack that repeats its event whenever its ConfigMap changes.
func (tm *team) misspell(t *testing.T) {
	t.Helper()
	tm.apply(t, &v1.Stack{}, `
metadata: {name: wrong}
spec:
  stack: dev
  programRef: {name: wrong}
  serviceAccountName: web
  configRef: {plan: {name: plan, key: plan}}
  secretsRef: {size: {type: Vault}}
`)
	tm.apply(t, &v1.Program{}, "metadata: {name: wrong}\nprogram: {outputs: {a: 1}}\n")
}

// wakeUp makes the operator reconcile the Stacks that refer to the ConfigMap, without any relevant change.
func (tm *team) wakeUp(t *testing.T) {
	t.Helper()
	change := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"at":"%d"}}}`, time.Now().UnixNano()))
	if err := tm.Patch(t.Context(), &corev1.ConfigMap{ObjectMeta: tm.meta("plan")}, change); err != nil {
		t.Fatal(err)
	}
}

// sourceKinds maps the resources of Flux's sources to their kinds.
var sourceKinds = map[string]string{"gitrepositories": "GitRepository", "ocirepositories": "OCIRepository", "buckets": "Bucket"}

const (
	fluxGroup   = "source.toolkit.fluxcd.io"
	policyGroup = "strata.dev"
)

func fluxStackOf(resource string) string {
	return fmt.Sprintf(`
metadata: {name: flux}
spec:
  stack: dev
  fluxSource: {sourceRef: {apiVersion: source.toolkit.fluxcd.io/v1, kind: %s, name: app}}
`, sourceKinds[resource])
}

// installKinds installs the CustomResourceDefinitions of Flux and the hops until the test ends.
func (c *cluster) installKinds(t *testing.T) {
	t.Helper()
	anything := true
	var kinds []*apiextensionsv1.CustomResourceDefinition
	all := maps.Clone(sourceKinds)
	all[policyResource] = "TenantPolicy"
	for resource, kind := range all {
		group := fluxGroup
		if resource == policyResource {
			group = policyGroup
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		definition.Name = resource + "." + group
		definition.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: resource, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &anything},
				},
			}},
		}
		kinds = append(kinds, definition)
	}
	options := envtest.CRDInstallOptions{CRDs: kinds}
	if _, err := envtest.InstallCRDs(c.config, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := envtest.UninstallCRDs(c.config, options); err != nil {
			t.Error(err)
		}
	})
}
