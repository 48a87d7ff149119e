package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/test/long"
)

// Drift runs while an update holds the lock of the stack, changes neither the state nor the resources, and shows no secret.
func TestDriftNamesWhatOthersChanged(t *testing.T) {
	long.Test(t)
	f, c, request := kubernetesFixture(t)
	namespace := c.namespace(t)
	req := request(`resources:
  settings:
    type: kubernetes:core/v1:ConfigMap
    properties: {metadata: {namespace: ` + namespace + `, name: settings}, data: {colour: red, size: small}}
  login:
    type: kubernetes:core/v1:Secret
    properties: {metadata: {namespace: ` + namespace + `, name: login}, stringData: {password: canary-wanted}}
  others:
    type: kubernetes:core/v1:ConfigMap
    properties: {metadata: {namespace: ` + namespace + `, name: others}}
`)
	f.mustRun(t, req)
	check := request("")
	check.Operation, check.Program = engine.Drift, nil
	if result := f.mustRun(t, check); len(result.Drifted) != 0 {
		t.Errorf("an untouched stack has drifted: %+v", result.Drifted)
	}

	objects := c.CoreV1()
	settings, err := objects.ConfigMaps(namespace).Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	settings.Data["colour"] = "blue"
	settings.Labels = map[string]string{"somebody": "else"}
	if _, err := objects.ConfigMaps(namespace).Update(t.Context(), settings, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	login, err := objects.Secrets(namespace).Get(t.Context(), "login", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	login.Data["password"] = []byte("canary-found")
	if _, err := objects.Secrets(namespace).Update(t.Context(), login, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := objects.ConfigMaps(namespace).Delete(t.Context(), "others", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	state := filepath.Join(f.backend, ".pulumi", "stacks", "shop", "dev.json")
	before, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(f.backend, ".pulumi", "locks", "organization", "shop", "dev", "other.json")
	if err := os.MkdirAll(filepath.Dir(lock), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lock, []byte(`{"pid":1,"username":"other","hostname":"elsewhere","timestamp":"2026-01-01T00:00:00Z"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	result := f.mustRun(t, check)
	got := map[string]events.Drifted{}
	for _, each := range result.Drifted {
		got[each.Name] = each
	}
	const configMap, secret = "kubernetes:core/v1:ConfigMap", "[secret]"
	if want := (map[string]events.Drifted{
		"settings": {Name: "settings", Type: configMap, Fields: []events.Field{{Path: "data.colour", Wanted: `"red"`, Found: `"blue"`}}},
		"login":    {Name: "login", Type: "kubernetes:core/v1:Secret", Fields: []events.Field{{Path: "data.password", Wanted: secret, Found: secret}}},
		"others":   {Name: "others", Type: configMap, Missing: true},
	}); !reflect.DeepEqual(got, want) {
		t.Errorf("drift %+v\nwant %+v", got, want)
	}
	after, err := os.ReadFile(state)
	if err != nil || string(after) != string(before) {
		t.Errorf("the check changed the state (%v)", err)
	}
	if left, err := os.ReadDir(filepath.Dir(lock)); err != nil || len(left) != 1 {
		t.Errorf("the locks are %v (%v)", left, err)
	}
}

func TestDriftOfAMissingStack(t *testing.T) {
	f := newFixture(t)
	req := f.request("")
	req.Operation = engine.Drift
	_, err := f.run(t, req)
	var failure *engine.Error
	if !errors.As(err, &failure) || failure.Reason != engine.StackMissing {
		t.Errorf("error %v, want a missing stack", err)
	}
	if _, err := os.Stat(f.backend); err == nil {
		t.Error("the check made the folder of the backend")
	}
}
