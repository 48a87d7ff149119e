package settle

import (
	"encoding/json"
	"strings"
)

const (
	// fieldManager is the output in which the Kubernetes provider stores the name of the field manager by which it owns an
	// object's fields. The provider generates the name when it creates the object.
	fieldManager = "__fieldManager"

	// managerPrefix is the prefix of the names that the provider generates.
	managerPrefix = "pulumi-kubernetes-"
)

// own gives adopted resources in the state the field manager that created their objects. With another field manager, every
// later change would be a conflict. own reports whether it changed the state.
func (s *State) own() bool {
	changed := false
	for _, r := range s.resources {
		name := r.creator()
		if name == "" {
			continue
		}
		var outputs map[string]json.RawMessage
		_ = json.Unmarshal(r["outputs"], &outputs) // creator has decoded them.
		outputs[fieldManager], _ = json.Marshal(name)
		r.set("outputs", outputs)
		changed = true
	}
	return changed
}

// creator returns the field manager of a Kubernetes object if the provider generated its name and the state has another
// one. Otherwise creator returns an empty string.
func (r resource) creator() string {
	if !strings.HasPrefix(r.text("type"), "kubernetes:") {
		return ""
	}
	var outputs struct {
		Known    *string `json:"__fieldManager"`
		Metadata *struct {
			ManagedFields []struct {
				Manager   string `json:"manager"`
				Operation string `json:"operation"`
			} `json:"managedFields"`
		} `json:"metadata"`
	}
	if json.Unmarshal(r["outputs"], &outputs) != nil || outputs.Known == nil || outputs.Metadata == nil {
		return ""
	}
	found := ""
	for _, entry := range outputs.Metadata.ManagedFields {
		if entry.Operation != "Apply" || !strings.HasPrefix(entry.Manager, managerPrefix) {
			continue
		}
		if entry.Manager == *outputs.Known {
			return ""
		}
		if found == "" {
			found = entry.Manager
		}
	}
	return found
}
