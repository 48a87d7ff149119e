package platform_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/platform"
)

const (
	hopSecrets = "/api/v1/namespaces/team-web/secrets"
	hopConfigs = "/api/v1/namespaces/team-web/configmaps"
)

// takings are requests by which a team could break its own hop. Layer 2 would not notice such a change.
var takings = map[string]attempt{
	"delete the Secret of its context":    {"DELETE", hopSecrets + "/strata-context", ""},
	"change the Secret of its context":    {"PATCH", hopSecrets + "/strata-context", "{stringData: {passphrase: mine}}"},
	"apply the Secret of its context":     {"APPLY", hopSecrets + "/strata-context", "{apiVersion: v1, kind: Secret, metadata: {name: strata-context}, stringData: {passphrase: mine}}"},
	"take the label off its context":      {"PATCH", hopSecrets + "/strata-context", "{metadata: {labels: {strata.dev/hop: null}}}"},
	"take all labels off its context":     {"PATCH", hopSecrets + "/strata-context", "{metadata: {labels: null}}"},
	"delete the ConfigMap of its context": {"DELETE", hopConfigs + "/strata-context", ""},
	"change the ConfigMap of its context": {"PATCH", hopConfigs + "/strata-context", "{data: {region: mine}}"},
	"delete the login of its repository":  {"DELETE", hopSecrets + "/web", ""},
	"change the login of its repository":  {"PATCH", hopSecrets + "/web", "{stringData: {password: mine}}"},
	"delete the token of its webhook":     {"DELETE", hopSecrets + "/web-webhook", ""},
	"change the token of its webhook":     {"PATCH", hopSecrets + "/web-webhook", "{stringData: {token: mine}}"},
	"put the label on what is its own":    {"POST", hopSecrets, "{apiVersion: v1, kind: Secret, metadata: {name: mine, labels: {strata.dev/hop: web}}}"},
}

// testHopGuard makes requests against the hop's objects, as the team and as the accounts that need them.
func testHopGuard(t *testing.T, c *cluster) {
	act := c.as(t, "team-web", "web")
	eventually(t, "the guard is at work", func() error {
		if err := act.try(t.Context(), attempt{"DELETE", hopSecrets + "/strata-context?dryRun=All", ""}); !guarded(err) {
			return fmt.Errorf("%w, want it refused", err)
		}
		return nil
	})
	for name, a := range takings {
		t.Run("the team may not "+name, func(t *testing.T) {
			if err := act.try(t.Context(), a); !guarded(err) {
				t.Errorf("%s %s: %v, want a refusal that names the contact", a.method, a.path, err)
			}
		})
	}
	own := "{apiVersion: v1, kind: Secret, metadata: {name: own, labels: {app.kubernetes.io/managed-by: pulumi}}, stringData: {a: b}}"
	for _, a := range []attempt{
		{"POST", hopSecrets, own}, {"PATCH", hopSecrets + "/own", "{stringData: {a: c}}"}, {"DELETE", hopSecrets + "/own", ""},
	} {
		if err := act.try(t.Context(), a); err != nil {
			t.Errorf("%s of an object of the team: %v", a.method, err)
		}
	}
	t.Run("the team may keep no token of an account", func(t *testing.T) { testLastingToken(t, c) })
	t.Run("the team may not delete all at once", func(t *testing.T) { testDeleteCollection(t, c) })
	t.Run("others may", func(t *testing.T) { testOthersPassTheGuard(t, c) })
}

// testLastingToken tries to create a permanent token of an account of the namespace. Whoever may write Secrets could do
// so without the guard.
func testLastingToken(t *testing.T, c *cluster) {
	const secret = "{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: lasting, annotations: {kubernetes.io/service-account.name: %s}}}"
	act := c.as(t, "team-web", "web")
	for _, account := range []string{"web", "default"} {
		for _, a := range []attempt{{"POST", hopSecrets, fmt.Sprintf(secret, account)}, {"APPLY", hopSecrets + "/lasting", fmt.Sprintf(secret, account)}} {
			err := act.try(t.Context(), a)
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "a token that never expires") || !strings.Contains(err.Error(), "ask the platform team") {
				t.Errorf("%s one of %s: %v, want a refusal that names the contact", a.method, account, err)
			}
		}
	}
	// An existing Secret, and Secrets of layer 2.
	if err := apply(t.Context(), c, strings.Replace(fmt.Sprintf(secret, "web"), "metadata: {", "metadata: {namespace: team-web, ", 1)); err != nil {
		t.Fatalf("layer 2 cannot make one: %v", err)
	}
	if err := act.try(t.Context(), attempt{"PATCH", hopSecrets + "/lasting", "{metadata: {annotations: {kubernetes.io/service-account.name: default}}}"}); !apierrors.IsForbidden(err) {
		t.Errorf("change one: %v, want it refused", err)
	}
	if err := act.try(t.Context(), attempt{"DELETE", hopSecrets + "/lasting", ""}); err != nil {
		t.Errorf("delete one: %v", err)
	}
}

// testDeleteCollection grants the team an additional permission, so that only the guard can refuse.
func testDeleteCollection(t *testing.T, c *cluster) {
	meta := metav1.ObjectMeta{Namespace: "team-web", Name: "collections"}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"deletecollection"}}}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "team-web", Name: "web"}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := c.Delete(t.Context(), object); err != nil {
				t.Error(err)
			}
		}()
	}
	act := c.as(t, "team-web", "web")
	eventually(t, "the guard refuses", func() error {
		if err := act.try(t.Context(), attempt{"DELETE", hopSecrets + "?labelSelector=" + hop.Label, ""}); !guarded(err) {
			return fmt.Errorf("%w, want it refused", err)
		}
		return nil
	})
}

// testOthersPassTheGuard changes and deletes objects as layer 2, and deletes them as Kubernetes does with a namespace.
func testOthersPassTheGuard(t *testing.T, c *cluster) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team-web", Name: "strata-context"}}
	if err := c.Patch(t.Context(), secret, client.RawPatch("application/merge-patch+json", []byte(`{"stringData": {"region": "europe-west2"}}`))); err != nil {
		t.Errorf("layer 2 cannot change it: %v", err)
	}
	if err := c.Delete(t.Context(), secret, client.DryRunAll); err != nil {
		t.Errorf("layer 2 cannot delete it: %v", err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "namespace-controller"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:controller:namespace-controller"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "kube-system", Name: "namespace-controller"}},
	}
	if err := c.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	act := c.as(t, "kube-system", "namespace-controller")
	eventually(t, "a namespace can be emptied", func() error {
		return act.try(t.Context(), attempt{"DELETE", hopSecrets + "?dryRun=All", ""})
	})
}

// guarded reports whether the guard refused a request, with a message that names the contact.
func guarded(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "belong to the platform") && strings.Contains(err.Error(), "ask the platform team")
}

func TestObjectsOfAHopAreGuardedBeforeAnyTeamIsSynced(t *testing.T) {
	engine := below(t, func(c *platform.Config) { c.Target, c.Contact = "local", "#platform" })
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	const group = "kubernetes:admissionregistration.k8s.io/v1:"
	policy := engine.Get(t, group+"ValidatingAdmissionPolicy", "hop-guard")
	expect(t, policy, map[string]any{"metadata.name": "strata-hops", "spec.failurePolicy": "Fail"})
	binding := engine.Get(t, group+"ValidatingAdmissionPolicyBinding", "hop-guard")
	expect(t, binding, map[string]any{"spec.policyName": "strata-hops", "spec.validationActions": []any{"Deny"}})
	if !engine.Get(t, hop.Type, "team-web").DependsOn(binding) {
		t.Error("the hop does not wait for its guard")
	}
	for _, name := range []string{"team-web-context", "team-web-source-credentials", "team-web-receiver-token"} {
		expect(t, engine.Get(t, secretType, name), map[string]any{"metadata.labels[\"" + hop.Label + "\"]": "web"})
	}
	expect(t, engine.Get(t, "kubernetes:core/v1:ConfigMap", "team-web-config"), map[string]any{"metadata.labels[\"" + hop.Label + "\"]": "web"})
}
