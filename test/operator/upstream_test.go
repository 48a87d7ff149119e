package operator_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// TestAProgramReadsConfigThatOnlyItsStackKnows covers a rule of upstream: a Program need not declare the config of its
// Stacks.
func TestAProgramReadsConfigThatOnlyItsStackKnows(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.create(t, &corev1.ConfigMap{ObjectMeta: tm.meta("settings"), Data: map[string]string{"json": `{"rate": 1000}`, "text": "v1"}})
	tm.apply(t, &v1.Program{}, `
metadata: {name: app}
program: {outputs: {database: "${database}", regions: "${regions}", tries: "${tries}", cached: "${cached}", json: "${json.rate}", text: "${text}"}}
`)
	tm.awaitProgram(t, "app", v1.StalledSpecInvalidReason)
	tm.apply(t, &v1.Stack{}, stackOf("app", "app")+`
  config: {database: {port: 5432}, regions: [west, east], tries: 30.5, cached: true}
  configRef: {json: {name: settings, key: json, json: true}, text: {name: settings, key: text}}
`)
	got := tm.await(t, "app", "Ready", ready).Status.Outputs
	for name, want := range map[string]string{
		"database": `{"port":5432}`, "regions": `["west","east"]`, "tries": "30.5", "cached": "true", "json": "1000", "text": `"v1"`,
	} {
		if raw := string(got[name].Raw); raw != want {
			t.Errorf("output %s is %s, want %s", name, raw, want)
		}
	}
	tm.awaitProgram(t, "app", v1.ReadyCompletedReason)
}

func TestOutputsOfUntargetedResourcesAreOmitted(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, `
metadata: {name: app}
program:
  resources:
    targeted: {type: "kubernetes:core/v1:ConfigMap"}
    other: {type: "kubernetes:core/v1:ConfigMap"}
  outputs: {targeted: "${targeted.kind}", other: "${other.metadata.uid}", both: ["${targeted.kind}", "${other.metadata.uid}"]}
`)
	tm.apply(t, &v1.Stack{}, stackOf("app", "app")+"  targets: [\"urn:pulumi:app::app::kubernetes:core/v1:ConfigMap::targeted\"]\n")
	got := tm.await(t, "app", "Ready", ready).Status.Outputs
	if names := slices.Collect(maps.Keys(got)); len(names) != 1 || names[0] != "targeted" {
		t.Errorf("the outputs are %v, want targeted only", names)
	}
}

// awaitProgram waits until the most informative condition of a Program has a reason.
func (tm *team) awaitProgram(t *testing.T, name, reason string) {
	t.Helper()
	eventually(t, "Program "+name+" is "+reason, func() error {
		program := &v1.Program{}
		if err := tm.Get(t.Context(), client.ObjectKey{Namespace: tm.namespace, Name: name}, program); err != nil {
			return err
		}
		for _, kind := range []string{v1.StalledCondition, v1.ReadyCondition} {
			if found := meta.FindStatusCondition(program.Status.Conditions, kind); found != nil {
				if found.Reason == reason {
					return nil
				}
				return errors.New(found.Message)
			}
		}
		return errors.New("it has no condition")
	})
}
