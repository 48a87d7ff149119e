package engine

import (
	"encoding/json"
	"strings"
)

const (
	// fieldManager is the output in which the Kubernetes provider keeps the name by
	// which it owns an object's fields. It makes one up as it creates the object.
	fieldManager = "__fieldManager"

	// managerPrefix begins the names that it makes up.
	managerPrefix = "pulumi-kubernetes-"
)

// own sets the resources that were taken into the state to the field manager by
// which their objects were created: with another one every later change would be
// a conflict. It tells whether there were any.
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

// creator returns the field manager that an object has, if it is one of the
// provider's and not the one that the state says.
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
