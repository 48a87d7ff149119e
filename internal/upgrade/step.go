package upgrade

import (
	"cmp"
	"slices"
	"strings"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/operator/plan"
)

// Names of the steps, as a record keeps them.
const (
	bootstrapStep = "layer 1: bootstrap"
	platformStep  = "layer 2: platform"
	fluxStep      = "layer 2: Flux"
	kindsStep     = "layer 3: kinds of the operator"
	operatorStep  = "layer 3: operator"
)

// order are the steps in their order.
var order = []string{bootstrapStep, platformStep, fluxStep, kindsStep, operatorStep}

// continues maps recorded steps to the step at which the upgrade continues, if that is another one.
var continues = map[string]string{
	// The run of layer 2 installs Flux, so whoever corrects Flux, for example fluxVersion, needs this run.
	fluxStep: platformStep,
	// Records of an earlier Strata.
	"layer 2: platform, with Flux":        platformStep,
	"layer 3: the operator and its kinds": kindsStep,
}

// before reports whether a step comes before the one at which an upgrade with a recorded step continues. No step comes before an unknown one.
func before(step, recorded string) bool {
	return slices.Index(order, step) < slices.Index(order, cmp.Or(continues[recorded], recorded))
}

// Step is a step of an upgrade.
type Step struct {
	Name string `json:"name"`
	// Versions are the versions that the step changes.
	Versions []Version `json:"versions"`
	// Counts are the resources by operation: create, update, replace, delete, same. Resources are those that change, the ones that
	// lose data first. Both are empty for layer 3, which Flux applies. For Flux, which the run of layer 2 installs, they are taken from
	// the preview of layer 2.
	Counts    map[string]int `json:"counts"`
	Resources []Resource     `json:"resources"`
	// Warnings name what the preview warns of, such as a controller of Flux that is missing in the cluster.
	Warnings []string `json:"warnings"`
	// Unknown is the error of a preview that may need what an earlier step creates, such as the identity of a new team. Empty if the
	// preview has succeeded.
	Unknown string `json:"unknown"`
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

// sort orders the resources as a Plan of a Stack does.
func (s *Step) sort() {
	step := func(r Resource) plan.Step {
		return plan.Step{Op: r.Op, Type: r.Type, Name: r.Name, LosesData: r.LosesData}
	}
	slices.SortFunc(s.Resources, func(a, b Resource) int { return plan.CompareSteps(step(a), step(b)) })
}

// moveFlux moves the resources that are Flux itself from the step of layer 2 to a step of their own.
func (s *Step) moveFlux(to *Step) {
	isFlux := func(r Resource) bool { return r.Type == fluxcd.Type || strings.HasPrefix(r.Type, fluxPackage) }
	for _, r := range s.Resources {
		if !isFlux(r) {
			continue
		}
		to.Resources = append(to.Resources, r)
		if s.Counts[r.Op] > 0 {
			s.Counts[r.Op]--
			to.Counts[r.Op]++
		}
		if s.Counts[r.Op] == 0 {
			delete(s.Counts, r.Op)
		}
	}
	s.Resources = slices.DeleteFunc(s.Resources, isFlux)
}

// fluxPackage begins the types of the package flux.
const fluxPackage = "flux:index/"

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
