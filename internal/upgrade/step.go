package upgrade

import (
	"slices"
	"strings"

	"github.com/strata-platform/strata/operator/plan"
)

// Step is a step of an upgrade.
type Step struct {
	Name string `json:"name"`
	// Versions are the versions that the step changes.
	Versions []Version `json:"versions"`
	// Counts are the resources by operation: create, update, replace, delete, same. Resources are those that change, the ones that
	// lose data first. Both are empty for layer 3, which Flux applies.
	Counts    map[string]int `json:"counts"`
	Resources []Resource     `json:"resources"`
	// Warnings name what the preview warns of, such as a controller of Flux that is missing in the cluster.
	Warnings []string `json:"warnings"`
	// Unknown is the error of a preview that may need what an earlier step creates, such as the identity of a new team. Empty if the
	// preview has succeeded.
	Unknown string `json:"unknown"`
}

// Version is a version that a step changes.
type Version struct {
	Name string `json:"name"`
	// From is the version of the platform; empty if unknown. To is the version of this strata.
	From string `json:"from"`
	To   string `json:"to"`
}

// Resource is a resource that a step changes.
type Resource struct {
	// Op is create, update, replace or delete.
	Op   string `json:"op"`
	Type string `json:"type"`
	Name string `json:"name"`
	// LosesData says that the operation deletes data that no program can create again.
	LosesData bool `json:"losesData"`
}

func (r Resource) String() string { return r.Op + " " + r.Type + " " + r.Name }

// Changes reports whether the step changes versions or resources.
func (s Step) Changes() bool { return len(s.Versions)+len(s.Resources) > 0 }

// lost returns the resources that lose data.
func (s Step) lost() []string {
	var names []string
	for _, resource := range s.Resources {
		if resource.LosesData {
			names = append(names, resource.String())
		}
	}
	return names
}

// rank orders resources: the ones that lose data come first.
func rank(r Resource) int {
	if r.LosesData {
		return 0
	}
	return 1
}

// operations maps the engine's operations to those of a plan. A replacement has three of the engine's.
var operations = map[string]string{
	"create": "create", "update": "update", "delete": "delete", "replace": "replace", "create-replacement": "replace", "delete-replaced": "replace",
}

// add adds an operation of the engine on a resource, "type name", or a warning.
func (s *Step) add(op, resource string) {
	if op == "warning:" {
		s.Warnings = append(s.Warnings, resource)
		return
	}
	kind, name, _ := strings.Cut(resource, " ")
	changed := Resource{Op: operations[op], Type: kind, Name: name}
	changed.LosesData = plan.LosesData(changed.Op, changed.Type)
	if changed.Op != "" && !strings.HasPrefix(kind, "pulumi:") && !slices.Contains(s.Resources, changed) {
		s.Resources = append(s.Resources, changed)
	}
}
