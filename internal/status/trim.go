package status

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-platform/strata/internal/terminal"
)

// keptAnnotations are the annotations that a report needs.
var keptAnnotations = []string{RuntimeAnnotation, requestedAt, revisionOf}

const (
	// mostOutputs is the maximum number of a Stack's outputs to keep.
	mostOutputs = 20
	// longestOutput is the maximum number of characters to keep of each.
	longestOutput = 60
)

// trim removes the parts of an object that no report needs, so that a team's large objects take little memory.
func trim(o runtime.Object) {
	about, err := meta.Accessor(o)
	if err != nil {
		return
	}
	annotations, kept := about.GetAnnotations(), map[string]string{}
	for _, name := range keptAnnotations {
		if value, found := annotations[name]; found {
			kept[name] = value
		}
	}
	about.SetAnnotations(kept)
	// The managers' names show who has suspended a sync. Their fields do not matter.
	managers := about.GetManagedFields()
	for i := range managers {
		managers[i].FieldsV1 = nil
	}
	about.SetManagedFields(managers)
	content, ok := o.(*unstructured.Unstructured)
	if !ok {
		return
	}
	switch content.GetKind() {
	case "Stack":
		trimOutputs(content)
	case "Program":
		trimProgram(content)
	}
}

// trimOutputs keeps the beginnings of a Stack's first outputs.
func trimOutputs(content *unstructured.Unstructured) {
	status, ok := content.Object["status"].(map[string]any)
	if !ok {
		return
	}
	all, ok := status["outputs"].(map[string]any)
	if !ok {
		return
	}
	kept := map[string]any{}
	for i, name := range sorted(all) {
		short := "" // A report shows only the number of further outputs.
		if i < mostOutputs {
			short = shortOutput(all[name])
		}
		kept[terminal.Line(name, longestOutput)] = short
	}
	status["outputs"] = kept
}

func shortOutput(value any) string {
	text, simple := value.(string)
	if !simple {
		// The value was decoded from JSON, so encoding does not fail.
		raw, _ := json.Marshal(value)
		text = string(raw)
	}
	return terminal.Line(text, longestOutput)
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
		if r, ok := each.(map[string]any); ok && at(r, "properties", "metadata", "name") != "" {
			kept[name] = map[string]any{"type": at(r, "type"), "properties": map[string]any{
				"metadata": map[string]any{"name": at(r, "properties", "metadata", "name")},
			}}
		}
	}
	content.Object["program"] = map[string]any{"resources": kept}
}
