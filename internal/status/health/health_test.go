package health

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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
