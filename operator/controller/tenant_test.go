package controller_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// policy makes the team's TenantPolicy out of its spec, or changes it.
func (tm *team) policy(t *testing.T, spec string) {
	t.Helper()
	tm.installKind(t, "strata.dev", "TenantPolicy", "tenantpolicies")
	object := &unstructured.Unstructured{}
	tm.apply(t, object, "apiVersion: strata.dev/v1\nkind: TenantPolicy\nmetadata: {name: strata}\nspec: "+spec)
}

func TestWhoMakesTheContextIsSaidWhereItIsMissing(t *testing.T) {
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
	const advice = "layer 2 makes it, by strata layer up platform: ask platform@example.com"
	secret := &corev1.Secret{ObjectMeta: tm.meta("context")}
	tm.remove(t, secret)
	says("spec.envRefs.PULUMI_BACKEND_URL: there is no Secret " + tm.namespace + "/context: " + advice)
	c.create(t, &corev1.Secret{ObjectMeta: tm.meta("context"), StringData: map[string]string{"passphrase": "canary-passphrase"}})
	says("spec.envRefs.PULUMI_BACKEND_URL: Secret " + tm.namespace + `/context has no key "backend": ` + advice)

	// Of its own Secrets the team is the one to make them.
	tm.policy(t, "{team: web, contact: platform@example.com, context: {name: another}}")
	tm.remove(t, secret)
	says("spec.envRefs.PULUMI_BACKEND_URL: there is no Secret " + tm.namespace + "/context: create it")
}
