package snapshot

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// The status may not import the local target, so it has names of its own for the node's annotations.
func TestTheNodesAnnotationsAreKept(t *testing.T) {
	for have, want := range map[string]string{
		AnnotationRuntime: runtime.Annotation, AnnotationRuntimeReason: runtime.ReasonAnnotation, RuntimeSimulated: runtime.Simulated,
	} {
		if have != want {
			t.Errorf("the report reads %s, the node writes %s", have, want)
		}
	}
}

func TestTrimLeavesLittleOfLargeObjects(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	for _, o := range []*unstructured.Unstructured{
		{Object: map[string]any{"kind": "Stack", "status": map[string]any{"outputs": map[string]any{"a": large, "b": map[string]any{"c": large}}}}},
		{Object: map[string]any{"kind": "Program", "program": map[string]any{"resources": map[string]any{"a": map[string]any{
			"type": "kubernetes:core/v1:Secret", "properties": map[string]any{"metadata": map[string]any{"name": "made"}, "stringData": map[string]any{"a": large}},
		}}, "variables": map[string]any{"v": large}}}},
		{Object: map[string]any{"kind": "Deployment", "metadata": map[string]any{"annotations": map[string]any{"a": large}}}},
	} {
		Trim(o)
		raw, err := json.Marshal(o.Object)
		if err != nil || len(raw) > 1000 {
			t.Errorf("a trimmed %s has %d bytes (%v)", o.GetKind(), len(raw), err)
		}
		if o.GetKind() == "Program" && !strings.Contains(string(raw), `"name":"made"`) {
			t.Error("a trimmed Program does not name the Secret that it creates")
		}
	}
}
