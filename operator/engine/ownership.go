package engine

import (
	"encoding/json"
	"strings"
)

const (
	// fieldManager is the output in which the Kubernetes provider stores the name of the
	// field manager by which it owns an object's fields. The provider generates the name
	// when it creates the object.
	fieldManager = "__fieldManager"

	// managerPrefix is the prefix of the names that the provider generates.
	managerPrefix = "pulumi-kubernetes-"
)

// own gives adopted resources in the state the field manager that created their
// objects. With another field manager, every later change would be a conflict. own
// reports whether it changed the state.
func (d *deployment) own() bool {
	changed := false
	for _, r := range d.resources {
		var outputs map[string]json.RawMessage
		if !strings.HasPrefix(r.text("type"), "kubernetes:") || json.Unmarshal(r["outputs"], &outputs) != nil {
			continue
		}
		name := creator(outputs)
		if name == "" {
			continue
		}
		outputs[fieldManager], _ = json.Marshal(name)
		r["outputs"], _ = json.Marshal(outputs) // It was JSON before.
		changed = true
	}
	return changed
}

// creator returns the object's field manager if the provider generated its name and the
// state has another one. Otherwise creator returns an empty string.
func creator(outputs map[string]json.RawMessage) string {
	var known string
	var live struct {
		ManagedFields []struct {
			Manager   string `json:"manager"`
			Operation string `json:"operation"`
		} `json:"managedFields"`
	}
	if json.Unmarshal(outputs[fieldManager], &known) != nil || json.Unmarshal(outputs["metadata"], &live) != nil {
		return ""
	}
	found := ""
	for _, entry := range live.ManagedFields {
		if entry.Operation != "Apply" || !strings.HasPrefix(entry.Manager, managerPrefix) {
			continue
		}
		if entry.Manager == known {
			return ""
		}
		if found == "" {
			found = entry.Manager
		}
	}
	return found
}
