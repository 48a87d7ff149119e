package status

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-platform/strata/internal/terminal"
)

// keptAnnotations are those that a report is made of.
var keptAnnotations = []string{RuntimeAnnotation, requestedAt, revisionOf}

const (
	// mostOutputs is how many outputs of a Stack are kept.
	mostOutputs = 20
	// longestOutput is how many characters are kept of each.
	longestOutput = 60
)

// trim takes from an object what no report is made of, so that a team's large objects fill no memory.
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
	// Who manages fields says who has suspended a sync; which fields does not matter.
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

// trimOutputs keeps the beginning of the first outputs of a Stack, as they are shown.
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
		short := "" // Of further ones the number is shown.
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
		// It came as JSON.
		raw, _ := json.Marshal(value)
		text = string(raw)
	}
	return terminal.Line(text, longestOutput)
}

// trimProgram keeps of a Program's resources their types and the names that they have in the cluster.
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
