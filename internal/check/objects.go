package check

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/strata-platform/strata/internal/check/admission"
	"github.com/strata-platform/strata/internal/check/kinds"
	types "github.com/strata-platform/strata/internal/check/program"
	"github.com/strata-platform/strata/internal/check/source"
	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/status/message"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/fields"
	"github.com/strata-platform/strata/operator/controller/prerequisites"
	"github.com/strata-platform/strata/operator/controller/program"
	"github.com/strata-platform/strata/operator/engine/owners"
	"github.com/strata-platform/strata/platform"
)

// found is an object of a build and its place.
type found struct {
	*unstructured.Unstructured
	at func(field string) source.Place
}

func (f found) String() string { return f.GetKind() + " " + f.GetName() }

// judge checks the objects of a build as the API server does.
func (r *run) judge(ctx context.Context, judgement *admission.Admission, files *source.Files, objects []trial.Object, account platform.AccountLimits) error {
	r.objects += len(objects)
	for _, each := range objects {
		object := found{Unstructured: &unstructured.Unstructured{}}
		if err := json.Unmarshal(each.JSON, object.Unstructured); err != nil {
			return fmt.Errorf("read an object of %s: %w", each.Origin, err)
		}
		object.at = func(string) source.Place { return files.Field(kustomization(r, account), "") }
		if document := files.Find(each.Origin, idOf(object.Unstructured)); document != nil {
			object.at = document.Field
		}
		refusals, err := judgement.Refusals(ctx, object.Unstructured)
		if err != nil {
			return fmt.Errorf("check %s: %w", object, err)
		}
		for _, refusal := range refusals {
			r.refused(object, refusal)
		}
		// The API server keeps a refused object out of one of the folders.
		if len(refusals) == 0 && !r.twice(object, account) {
			r.admitted = append(r.admitted, object)
		}
	}
	return nil
}

// placed is the place of an object in the folder of an account.
type placed struct {
	at      source.Place
	account platform.AccountLimits
}

// twice reports an object that the folder of an earlier account contains, too, and returns whether there is one. kustomize refuses a
// second object in one folder, and nobody refuses one in another.
func (r *run) twice(object found, account platform.AccountLimits) bool {
	id := idOf(object.Unstructured)
	// The versions of a kind are the same object.
	id.APIVersion = object.GroupVersionKind().Group
	here := placed{object.at("metadata.name"), account}
	if r.placed == nil {
		r.placed = map[source.ID]placed{}
	}
	other, ok := r.placed[id]
	if !ok {
		r.placed[id] = here
		return false
	}
	r.add(here.at, RuleTwice, object.String(), fmt.Sprintf("%s is applied from %s, and also from %s (%s:%d): each of the two Kustomizations overwrites the other's object",
		object, folderOf(account), folderOf(other.account), other.at.File, other.at.Line), "rename or remove one of the two")
	return true
}

func idOf(object *unstructured.Unstructured) source.ID {
	return source.ID{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
}

// kustomization returns the file that a build of an account begins with.
func kustomization(r *run, account platform.AccountLimits) string {
	folder := path.Join("/", account.Path)[1:]
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if name = path.Join(folder, name); isFile(r.tree, name) {
			return name
		}
	}
	return folderOf(account)
}

// refused reports the refusal of the API server as Flux and strata status report it.
func (r *run) refused(object found, refusal kinds.Refusal) {
	rule := RuleSchema
	switch {
	case refusal.Reason == metav1.StatusReasonForbidden:
		rule = RuleForbidden
	case refusal.Reason == metav1.StatusReasonNotFound:
		rule = RuleKind
	case strings.HasPrefix(refusal.Message, "ValidatingAdmissionPolicy "):
		rule = RulePolicy
	}
	text, fix := message.Apply(fluxFailure(object.Unstructured, refusal))
	r.add(object.at(refusal.Field), rule, object.String(), text, fix)
}

// fluxFailure returns the message of Flux about an object that the API server refuses
// (github.com/fluxcd/pkg/ssa/errors, DryRunErr).
func fluxFailure(object *unstructured.Unstructured, refusal kinds.Refusal) string {
	name := object.GetName()
	if namespace := object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	reason := ""
	if refusal.Reason != "" {
		reason = fmt.Sprintf(" (%s)", refusal.Reason)
	}
	return fmt.Sprintf("%s/%s dry-run failed%s: %s", object.GetKind(), name, reason, refusal.Message)
}

// operate checks Stacks and Programs as the operator does, which looks at all objects of the namespace.
func (r *run) operate(objects []found) error {
	stacks, programs := map[string]*v1.Stack{}, map[string]*v1.Program{}
	config := map[string][]string{}
	places := map[string]found{}
	for _, object := range objects {
		if object.GroupVersionKind().Group != v1.GroupVersion.Group {
			continue
		}
		places[object.String()] = object
		switch object.GetKind() {
		case "Stack":
			stack := &v1.Stack{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, stack); err != nil {
				return fmt.Errorf("read %s: %w", object, err)
			}
			stacks[stack.Name] = stack
			if ref := stack.Spec.ProgramRef; ref != nil {
				config[ref.Name] = append(config[ref.Name], program.ConfigKeys(&stack.Spec)...)
			}
		case "Program":
			made := &v1.Program{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, made); err != nil {
				return fmt.Errorf("read %s: %w", object, err)
			}
			programs[made.Name] = made
		}
	}
	for _, name := range slices.Sorted(maps.Keys(stacks)) {
		if err := cmp.Or(fields.Validate(stacks[name]), prerequisites.CheckCircle(stacks[name], stacks)); err != nil {
			object := places["Stack "+name]
			field, _, _ := strings.Cut(err.Error(), " ")
			r.add(object.at(strings.Trim(field, ":,")), RuleStack, object.String(), fmt.Sprintf("Stack %s: %v", name, err), "correct it and push")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		r.program(places["Program "+name], programs[name], config[name])
	}
	registry := &owners.Registry{}
	for _, name := range slices.Sorted(maps.Keys(stacks)) {
		ref := stacks[name].Spec.ProgramRef
		if ref == nil || programs[ref.Name] == nil {
			continue
		}
		r.stackNames[stacks[name].Spec.Stack] = "Stack " + name
		if err := r.owned(registry, places["Program "+ref.Name], stacks[name], programs[ref.Name]); err != nil {
			return fmt.Errorf("check the databases of Stack %s: %w", name, err)
		}
	}
	return nil
}

// program checks a Program as the operator does before a run, and its types as the run does at its begin.
func (r *run) program(object found, made *v1.Program, config []string) {
	if err := program.Check(made, config); err != nil {
		field, _, _ := strings.Cut(err.Error(), ": ")
		r.add(object.at(field), RuleProgram, object.String(), fmt.Sprintf("Program %s: %v", made.Name, err), "correct it and push")
		return
	}
	content, _, err := program.ProjectFile(made)
	if err != nil {
		r.add(object.at(""), RuleProgram, object.String(), err.Error(), "correct it and push")
		return
	}
	var schemas *types.Schemas
	if r.Schemas != nil {
		schemas = r.Schemas()
	}
	if schemas == nil || schemas.Empty() {
		r.notes = append(r.notes, "types of Programs are not checked: no schemas of Pulumi's packages are here; strata up stores them, or name a folder with --schemas")
		return
	}
	faults, without := schemas.Check(content, config)
	if len(without) > 0 {
		r.notes = append(r.notes, fmt.Sprintf("types of Program %s are not checked: there is no schema of package %s", made.Name, strings.Join(without, ", ")))
	}
	for _, fault := range faults {
		field := ""
		if fault.Field != "" {
			field = "program." + fault.Field
		}
		r.add(object.at(field), RuleTypes, object.String(), fmt.Sprintf("Program %s: %s", made.Name, fault.Message), "correct it and push")
	}
}
