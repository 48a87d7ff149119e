// Package fields validates the fields of a Stack's spec, and reads its optional templates.
package fields

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	k8sfield "k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/stall"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/environ"
)

const (
	// Sources lists the fields of the sources, for messages. A Stack sets exactly one of them.
	Sources = "spec.programRef, spec.fluxSource or spec.projectRepo"

	// WorkspacePath is the path of the workspace template's spec, for messages. A field's name follows the trailing dot.
	WorkspacePath = "spec.workspaceTemplate.spec."
)

// Validate rejects a Stack that this operator cannot apply in full, whatever else exists. The error is a [*stall.Error] that names the
// field.
func Validate(stack *v1.Stack) error {
	for _, check := range []func(*v1.StackSpec) error{checkUnsupported, checkSource, checkUpdate, checkEnv, checkLabels} {
		if err := check(&stack.Spec); err != nil {
			return err
		}
	}
	if err := checkReferences(stack); err != nil {
		return err
	}
	return CheckPrerequisites(stack)
}

func checkUnsupported(spec *v1.StackSpec) error {
	if fields := unsupported(spec); len(fields) > 0 {
		return stall.Invalid("%s: not supported by this operator, which runs programs without a pod and without Pulumi's service for environments: remove it", strings.Join(fields, ", "))
	}
	return nil
}

// checkSource requires one source of the program, and rejects fields that have no effect without projectRepo: ignored credentials
// or branches would surprise their author.
func checkSource(spec *v1.StackSpec) error {
	git := []field{
		{"spec.repoDir", spec.RepoDir != ""},
		{"spec.commit", spec.Commit != ""},
		{"spec.branch", spec.Branch != ""},
		{"spec.shallow", spec.Shallow},
		{"spec.gitAuth", spec.GitAuth != nil},
		{"spec.gitAuthSecret", spec.GitAuthSecret != ""},
	}
	sources := names([]field{
		{"spec.programRef", spec.ProgramRef != nil},
		{"spec.fluxSource", spec.FluxSource != nil},
		{"spec.projectRepo", spec.ProjectRepo != ""},
	})
	switch {
	case len(sources) == 0:
		return stall.Invalid("no source: set %s", Sources)
	case len(sources) > 1:
		return stall.Invalid("%s: more than one source: keep one of them", strings.Join(sources, ", "))
	case spec.ProjectRepo == "" && len(names(git)) > 0:
		return stall.Invalid("%s: has no effect without spec.projectRepo: set both, or remove this field", strings.Join(names(git), ", "))
	case spec.ProjectRepo != "" && (spec.Branch == "") == (spec.Commit == ""):
		return stall.Invalid("spec.projectRepo: set one of spec.branch and spec.commit")
	case spec.GitAuth != nil && spec.GitAuthSecret != "":
		return stall.Invalid("spec.gitAuth, spec.gitAuthSecret: only one of them has an effect: remove spec.gitAuthSecret")
	}
	return nil
}

func checkUpdate(spec *v1.StackSpec) error {
	if spec.ExpectNoRefreshChanges && !spec.Refresh {
		return stall.Invalid("spec.expectNoRefreshChanges: has no effect without spec.refresh: set both, or remove this field")
	}
	template := Update(spec)
	if template.Type != nil {
		switch engine.Operation(*template.Type) {
		case engine.Up, engine.Preview, engine.Refresh, engine.Destroy:
		default:
			return stall.Invalid("spec.updateTemplate.spec.type: %q is unknown: use up, preview, refresh or destroy", *template.Type)
		}
	}
	if template.StackName != nil && *template.StackName != spec.Stack {
		return stall.Invalid("spec.updateTemplate.spec.stackName: differs from spec.stack: remove it")
	}
	return nil
}

// checkEnv rejects single variables by their names. The keys of whole objects are known
// only after a read.
func checkEnv(spec *v1.StackSpec) error {
	for _, name := range slices.Sorted(maps.Keys(spec.EnvRefs)) {
		if err := CheckVariable("spec.envRefs."+name, name); err != nil {
			return err
		}
	}
	for _, variable := range Workspace(spec).Env {
		if err := CheckVariable(WorkspacePath+"env."+variable.Name, variable.Name); err != nil {
			return err
		}
	}
	return nil
}

// CheckVariable rejects a reserved or invalid name of an environment variable. path is the
// field that sets the variable or names the object with that key.
func CheckVariable(path, name string) error {
	if err := environ.Check(name); err != nil {
		return stall.Invalid("%s: the variable %q %v: remove it", path, name, err)
	}
	return nil
}

// checkLabels rejects invalid labels.
func checkLabels(spec *v1.StackSpec) error {
	const path = "spec.workspaceTemplate.metadata.labels"
	if faults := validation.ValidateLabels(Labels(spec), k8sfield.NewPath(path)); len(faults) > 0 {
		return stall.Invalid("%v: correct it, or remove it", faults[0])
	}
	return nil
}

// Labels returns the labels of a Stack's workspace template, or nil if there are none.
func Labels(spec *v1.StackSpec) map[string]string {
	if spec.WorkspaceTemplate == nil || spec.WorkspaceTemplate.Metadata == nil {
		return nil
	}
	return spec.WorkspaceTemplate.Metadata.Labels
}

// field is a field of a spec and whether it is set.
type field struct {
	name string
	set  bool
}

func names(fields []field) []string {
	var set []string
	for _, f := range fields {
		if f.set {
			set = append(set, f.name)
		}
	}
	return set
}

// unsupported returns the names of fields that are set, should have an effect, and have
// none under this operator.
func unsupported(spec *v1.StackSpec) []string {
	template := Workspace(spec)
	return names([]field{
		{"spec.environment", len(spec.Environment) > 0},
		{"spec.workspaceTemplate.spec.git", template.Git != nil},
		{"spec.workspaceTemplate.spec.flux", template.Flux != nil},
		{"spec.workspaceTemplate.spec.local", template.Local != nil},
		{"spec.workspaceTemplate.spec.projectInfo", template.ProjectInfo != nil},
		{"spec.workspaceTemplate.spec.stacks", len(template.Stacks) > 0},
	})
}

// NotApplied returns the names of fields that are set and only apply to objects that
// this operator does not create: a pod, and the object of an update.
func NotApplied(spec *v1.StackSpec) []string {
	template, update := Workspace(spec), Update(spec)
	return names([]field{
		{"spec.workspaceTemplate.spec.image", template.Image != nil},
		{"spec.workspaceTemplate.spec.imagePullPolicy", template.ImagePullPolicy != nil},
		{"spec.workspaceTemplate.spec.securityProfile", template.SecurityProfile != nil},
		{"spec.workspaceTemplate.spec.resources", template.Resources != nil},
		{"spec.workspaceTemplate.spec.podTemplate", template.PodTemplate != nil},
		{"spec.workspaceTemplate.spec.serviceTemplate", template.ServiceTemplate != nil},
		{"spec.workspaceTemplate.spec.pulumiLogLevel", template.PulumiLogLevel != nil},
		{"spec.workspaceTemplate.metadata.annotations", spec.WorkspaceTemplate != nil && spec.WorkspaceTemplate.Metadata != nil && len(spec.WorkspaceTemplate.Metadata.Annotations) > 0},
		{"spec.updateTemplate.metadata", spec.UpdateTemplate != nil && spec.UpdateTemplate.Metadata != nil},
		{"spec.updateTemplate.spec.ttlAfterCompleted", update.TTLAfterCompleted != nil},
		{"spec.updateTemplate.spec.workspaceName", update.WorkspaceName != nil},
	})
}

// Workspace returns the workspace template of a Stack, or an empty one.
func Workspace(spec *v1.StackSpec) v1.WorkspaceTemplateSpec {
	if spec.WorkspaceTemplate == nil || spec.WorkspaceTemplate.Spec == nil {
		return v1.WorkspaceTemplateSpec{}
	}
	return *spec.WorkspaceTemplate.Spec
}

// Update returns the update template of a Stack, or an empty one.
func Update(spec *v1.StackSpec) v1.UpdateTemplateSpec {
	if spec.UpdateTemplate == nil || spec.UpdateTemplate.Spec == nil {
		return v1.UpdateTemplateSpec{}
	}
	return *spec.UpdateTemplate.Spec
}
