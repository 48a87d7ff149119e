package snapshot

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/terminal"
)

// Annotations that a report needs.
const (
	// AnnotationRuntime is the annotation of a pod that says how the local node runs it.
	AnnotationRuntime = "strata.dev/runtime"
	// AnnotationRuntimeReason is the annotation of a pod that says why it is simulated.
	AnnotationRuntimeReason = "strata.dev/runtime-reason"
	// AnnotationRequestedAt is the annotation that requests a reconciliation from Flux. `flux reconcile` sets it, and a
	// Receiver sets it after a push.
	AnnotationRequestedAt = "reconcile.fluxcd.io/requestedAt"
	// AnnotationRevision is the annotation of an event with the revision that the event is about.
	AnnotationRevision = "kustomize.toolkit.fluxcd.io/revision"
)

// RuntimeSimulated is the value of AnnotationRuntime for a pod that does not run.
const RuntimeSimulated = "simulated"

var keptAnnotations = []string{AnnotationRuntime, AnnotationRequestedAt, AnnotationRevision}

// Trim removes those parts of an object that no report needs. So the large objects of a team take little memory.
func Trim(o runtime.Object) {
	object, err := meta.Accessor(o)
	if err != nil {
		return
	}
	annotations, kept := object.GetAnnotations(), map[string]string{}
	for _, name := range keptAnnotations {
		if value, found := annotations[name]; found {
			kept[name] = value
		}
	}
	object.SetAnnotations(kept)
	// The managers' names show who has suspended a sync. Their fields do not matter.
	managers := object.GetManagedFields()
	for i := range managers {
		managers[i].FieldsV1 = nil
	}
	object.SetManagedFields(managers)
	content, ok := o.(*unstructured.Unstructured)
	if !ok {
		return
	}
	switch content.GetKind() {
	case "Stack":
		trimOutputs(content)
		// The condition says whether the Stack has drifted. Only the command drift shows the details.
		unstructured.RemoveNestedField(content.Object, "status", "drift")
	case "Program":
		trimProgram(content)
	}
}

// trimOutputs keeps the beginnings of a Stack's first outputs, and the names of the others, which a report counts.
func trimOutputs(content *unstructured.Unstructured) {
	state, ok := content.Object["status"].(map[string]any)
	if !ok {
		return
	}
	all, ok := state["outputs"].(map[string]any)
	if !ok {
		return
	}
	kept := map[string]any{}
	for i, name := range slices.Sorted(maps.Keys(all)) {
		short := ""
		if i < status.MostOutputs {
			short = status.ShortOutput(all[name])
		}
		kept[terminal.Line(name, status.LongestOutput)] = short
	}
	state["outputs"] = kept
}

// trimProgram keeps the types of a Program's resources and their names in the cluster.
func trimProgram(content *unstructured.Unstructured) {
	program, ok := content.Object["program"].(map[string]any)
	if !ok {
		return
	}
	resources, _ := program["resources"].(map[string]any)
	kept := map[string]any{}
	for name, each := range resources {
		if r, ok := each.(map[string]any); ok && stringAt(r, "properties", "metadata", "name") != "" {
			kept[name] = map[string]any{"type": stringAt(r, "type"), "properties": map[string]any{
				"metadata": map[string]any{"name": stringAt(r, "properties", "metadata", "name")},
			}}
		}
	}
	content.Object["program"] = map[string]any{"resources": kept}
}

// stringAt returns a string in nested maps, or "".
func stringAt(m map[string]any, path ...string) string {
	s, _, _ := unstructured.NestedString(m, path...)
	return s
}
