package controller_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/source/sourcetest"
	"github.com/strata-platform/strata/test/long"
)

// policy creates or updates the team's TenantPolicy with a spec.
func (tm *team) policy(t *testing.T, spec string) {
	t.Helper()
	tm.installKind(t, "strata.dev", "TenantPolicy", "tenantpolicies")
	object := &unstructured.Unstructured{}
	tm.apply(t, object, "apiVersion: strata.dev/v1\nkind: TenantPolicy\nmetadata: {name: strata}\nspec: "+spec)
}

func TestAMissingContextNamesItsCreator(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.policy(t, "{team: web, contact: platform@example.com, context: {name: context}}")
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack)
	tm.await(t, "shop-dev", "ready", ready)

	says := func(want string) {
		t.Helper()
		tm.await(t, "shop-dev", "saying: "+want, func(s *v1.Stack) bool {
			c := condition(s, v1.ReadyCondition)
			return c.Status == metav1.ConditionFalse && c.Message == want
		})
	}
	const advice = "strata layer up platform creates it: ask platform@example.com"
	secret := &corev1.Secret{ObjectMeta: tm.meta("context")}
	tm.remove(t, secret)
	says("spec.envRefs.PULUMI_BACKEND_URL: there is no Secret " + tm.namespace + "/context: " + advice)
	c.create(t, &corev1.Secret{ObjectMeta: tm.meta("context"), StringData: map[string]string{"passphrase": "canary-passphrase"}})
	says("spec.envRefs.PULUMI_BACKEND_URL: Secret " + tm.namespace + `/context has no key "backend": ` + advice)

	// The team itself creates the Secrets that the platform does not make.
	tm.policy(t, "{team: web, contact: platform@example.com, context: {name: another}}")
	tm.remove(t, secret)
	says("spec.envRefs.PULUMI_BACKEND_URL: there is no Secret " + tm.namespace + "/context: create it")
}

func TestProjectFromGitIsCheckedAgainstTheTenantPolicy(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	git := sourcetest.New(t, "", "")
	startOperator(t, c)
	tm := newTeam(t, c)
	const policy = "{team: web, contact: platform@example.com, context: {name: context}, types: ['random:*'%s], typeNames: [], typePrefixes: ['random:'%s]}"
	narrow, wide := fmt.Sprintf(policy, "", ""), fmt.Sprintf(policy, ", 'kubernetes:core/*'", ", 'kubernetes:core/'")
	tm.policy(t, narrow)
	commit := git.Commit(t, "infra/Pulumi.yaml", `name: site
runtime: yaml
resources:
  settings:
    type: kubernetes:core/v1:ConfigMap
    properties:
      metadata: {name: settings, annotations: {pulumi.com/deletionPropagationPolicy: background}}
`)
	tm.apply(t, &v1.Stack{}, "metadata: {name: site}\nspec:"+sourceEnv+
		"  destroyOnFinalize: true\n  runProgram: true\n  projectRepo: "+git.URL+"\n  repoDir: infra\n  commit: "+commit)
	refused := func(s *v1.Stack) bool {
		return s != nil && condition(s, v1.StalledCondition).Reason == v1.StalledTypeNotAllowedReason
	}
	got := tm.await(t, "site", "refused", refused)
	want := `infra/Pulumi.yaml line 5: resource "settings" is of type kubernetes:core/v1:ConfigMap. ` +
		"Programs of team web may declare random:*; for others ask platform@example.com"
	if message := condition(got, v1.ReadyCondition).Message; message != want {
		t.Errorf("message %q, want %q", message, want)
	}
	checkKstatus(t, got, "Failed")
	if got.Status.ProjectInfo != nil {
		t.Error("it counts as one that may hold resources")
	}
	tm.awaitEvent(t, corev1.EventTypeWarning, v1.StackUpdateFailureEvent, want)

	// The operator runs the project again as soon as the policy allows more, not after the
	// wait.
	tm.policy(t, wide)
	got = tm.await(t, "site", "Ready", ready)
	tm.awaitEvent(t, corev1.EventTypeNormal, v1.StackUpdateDetectedEvent, "the types that the team may declare have changed")
	if _, ok := tm.configMap(t, "settings"); !ok {
		t.Error("there is no ConfigMap")
	}

	// Existing resources stay and can be destroyed, even if the policy no longer allows
	// them.
	tm.policy(t, narrow)
	if _, ok := tm.configMap(t, "settings"); !ok {
		t.Error("the ConfigMap is gone")
	}
	tm.remove(t, got)
	tm.await(t, "site", "gone", gone)
	if _, ok := tm.configMap(t, "settings"); ok {
		t.Error("the ConfigMap is left behind")
	}
}

func TestProjectFromGitWaitsForTheTenantPolicy(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	git := sourcetest.New(t, "", "")
	startOperator(t, c)
	tm := newTeam(t, c)
	c.installKind(t, "strata.dev", "TenantPolicy", "tenantpolicies")
	commit := git.Commit(t, "infra/Pulumi.yaml", `name: site
runtime: yaml
resources:
  settings:
    type: kubernetes:core/v1:ConfigMap
    properties:
      metadata: {name: settings, annotations: {pulumi.com/deletionPropagationPolicy: background}}
`)
	tm.apply(t, &v1.Stack{}, "metadata: {name: site}\nspec:"+sourceEnv+
		"  destroyOnFinalize: true\n  runProgram: true\n  projectRepo: "+git.URL+"\n  repoDir: infra\n  commit: "+commit)
	want := "there is no TenantPolicy " + tm.namespace + "/strata, which lists the types that a project may declare: strata layer up platform creates it"
	got := tm.await(t, "site", "waiting", func(s *v1.Stack) bool {
		return s != nil && condition(s, v1.ReadyCondition).Message == want
	})
	checkKstatus(t, got, "InProgress")
	if got.Status.ProjectInfo != nil {
		t.Error("it counts as one that may hold resources")
	}

	// The Stack runs as soon as the policy exists.
	tm.policy(t, "{team: web, contact: platform@example.com, context: {name: context}, types: ['kubernetes:*'], typeNames: [], typePrefixes: ['kubernetes:']}")
	tm.await(t, "site", "Ready", ready)
	if _, ok := tm.configMap(t, "settings"); !ok {
		t.Error("there is no ConfigMap")
	}

	// Resources can be destroyed without the policy, as at the end of a namespace.
	policy := &unstructured.Unstructured{}
	policy.SetAPIVersion("strata.dev/v1")
	policy.SetKind("TenantPolicy")
	policy.SetNamespace(tm.namespace)
	policy.SetName("strata")
	tm.remove(t, policy)
	tm.remove(t, got)
	tm.await(t, "site", "gone", gone)
	if _, ok := tm.configMap(t, "settings"); ok {
		t.Error("the ConfigMap is left behind")
	}
	tm.awaitEvent(t, corev1.EventTypeWarning, v1.StackConfigInvalidEvent, "spec.runProgram: destroying without the program: "+want)
}
