package status

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestRootCause(t *testing.T) {
	ok := func(layer, kind, name string) Item { return Item{Layer: layer, Kind: kind, Name: name, Ready: true} }
	bad := func(layer, kind, name, reason string) Item {
		return Item{Layer: layer, Kind: kind, Name: name, Reason: reason}
	}
	for name, tc := range map[string]struct {
		items []Item
		cause string
	}{
		"none where all is ready":       {[]Item{ok("platform", "Kustomization", "a")}, ""},
		"the lowest layer explains":     {[]Item{bad("platform", "GitRepository", "a", "GitOperationFailed"), bad("team", "Stack", "b", "UpdateFailed")}, "a"},
		"a follower explains nothing":   {[]Item{bad("platform", "Kustomization", "a", "HealthCheckFailed"), bad("sync", "Kustomization", "b", "BuildFailed")}, "b"},
		"only followers: the first one": {[]Item{ok("platform", "Pod", "z"), bad("platform", "Kustomization", "a", "Progressing"), bad("sync", "Deployment", "b", "InProgress")}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			report := NewReport(tc.items)
			cause, found := report.RootCause()
			if found != (tc.cause != "") || cause.Name != tc.cause {
				t.Errorf("root cause is %q, want %q", cause.Name, tc.cause)
			}
			if report.Ready != (tc.cause == "") {
				t.Errorf("ready is %v", report.Ready)
			}
		})
	}
}

func TestReady(t *testing.T) {
	object := func(generation, observed int64, state string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"generation": generation},
			"status": map[string]any{"conditions": []any{map[string]any{
				"type": "Ready", "status": state, "reason": "Because", "message": "it is so", "observedGeneration": observed,
			}}},
		}}
	}
	for name, tc := range map[string]struct {
		object *unstructured.Unstructured
		ready  bool
		reason string
	}{
		"ready":                             {object(2, 2, "True"), true, "Because"},
		"not ready":                         {object(2, 2, "False"), false, "Because"},
		"ready, but of an older generation": {object(3, 2, "True"), false, "Progressing"},
		"nothing reported":                  {&unstructured.Unstructured{Object: map[string]any{}}, false, "Progressing"},
	} {
		t.Run(name, func(t *testing.T) {
			if ready, reason, _ := ready(tc.object); ready != tc.ready || reason != tc.reason {
				t.Errorf("got %v %s, want %v %s", ready, reason, tc.ready, tc.reason)
			}
		})
	}
}
