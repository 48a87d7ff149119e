package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	k8sfield "k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/engine"
)

// stall is an error that only a change fixes: of the object itself or of something that
// wakes it.
type stall struct {
	reason, message string
}

// Error implements error.
func (s *stall) Error() string { return s.message }

func invalid(format string, args ...any) error {
	return &stall{reason: v1.StalledSpecInvalidReason, message: fmt.Sprintf(format, args...)}
}

// validate rejects a spec that this operator cannot apply in full.
func validate(spec *v1.StackSpec) error {
	for _, check := range []func(*v1.StackSpec) error{checkUnsupported, checkSource, checkUpdate, checkEnv, checkLabels} {
		if err := check(spec); err != nil {
			return err
		}
	}
	return nil
}

func checkUnsupported(spec *v1.StackSpec) error {
	if fields := unsupported(spec); len(fields) > 0 {
		return invalid("%s: not supported by this operator, which runs programs without a pod and without Pulumi's service for environments: remove it", strings.Join(fields, ", "))
	}
	return nil
}

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
		return invalid("no source: set %s", sourceFields)
	case len(sources) > 1:
		return invalid("%s: more than one source: leave one of them", strings.Join(sources, ", "))
	case spec.ProjectRepo == "" && len(names(git)) > 0:
		return invalid("%s: has no effect without spec.projectRepo: set it, or remove this one", strings.Join(names(git), ", "))
	case spec.ProjectRepo != "" && (spec.Branch == "") == (spec.Commit == ""):
		return invalid("spec.projectRepo: set one of spec.branch and spec.commit")
	case spec.GitAuth != nil && spec.GitAuthSecret != "":
		return invalid("spec.gitAuth, spec.gitAuthSecret: exclude each other: remove the latter")
	}
	return nil
}

func checkUpdate(spec *v1.StackSpec) error {
	if spec.ExpectNoRefreshChanges && !spec.Refresh {
		return invalid("spec.expectNoRefreshChanges: has no effect without spec.refresh: set it, or remove this one")
	}
	template := updateOf(spec)
	if template.Type != nil {
		switch engine.Operation(*template.Type) {
		case engine.Up, engine.Preview, engine.Refresh, engine.Destroy:
		default:
			return invalid("spec.updateTemplate.spec.type: %q is unknown: use up, preview, refresh or destroy", *template.Type)
		}
	}
	if template.StackName != nil && *template.StackName != spec.Stack {
		return invalid("spec.updateTemplate.spec.stackName: is not spec.stack: remove it")
	}
	return nil
}

// checkEnv rejects single variables by their names. The keys of whole objects are known
// only after a read.
func checkEnv(spec *v1.StackSpec) error {
	for _, name := range slices.Sorted(maps.Keys(spec.EnvRefs)) {
		if err := checkVariable("spec.envRefs."+name, name); err != nil {
			return err
		}
	}
	for _, variable := range templateOf(spec).Env {
		if err := checkVariable(templatePath+"env."+variable.Name, variable.Name); err != nil {
			return err
		}
	}
	return nil
}

// checkVariable rejects a reserved or invalid variable name. path is the field that
// sets the variable or names the object with that key.
func checkVariable(path, name string) error {
	if err := engine.CheckVariable(name); err != nil {
		return invalid("%s: the variable %q %v: remove it", path, name, err)
	}
	return nil
}

// checkLabels rejects invalid labels.
func checkLabels(spec *v1.StackSpec) error {
	const path = "spec.workspaceTemplate.metadata.labels"
	if faults := validation.ValidateLabels(workspaceLabels(spec), k8sfield.NewPath(path)); len(faults) > 0 {
		return invalid("%v: correct it, or remove it", faults[0])
	}
	return nil
}

// workspaceLabels returns the labels of a Stack's workspace.
func workspaceLabels(spec *v1.StackSpec) map[string]string {
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
	template := templateOf(spec)
	return names([]field{
		{"spec.environment", len(spec.Environment) > 0},
		{"spec.workspaceTemplate.spec.git", template.Git != nil},
		{"spec.workspaceTemplate.spec.flux", template.Flux != nil},
		{"spec.workspaceTemplate.spec.local", template.Local != nil},
		{"spec.workspaceTemplate.spec.projectInfo", template.ProjectInfo != nil},
		{"spec.workspaceTemplate.spec.stacks", len(template.Stacks) > 0},
	})
}

// notApplied returns the names of fields that are set and only apply to objects that
// this operator does not create: a pod, and the object of an update.
func notApplied(spec *v1.StackSpec) []string {
	template, update := templateOf(spec), updateOf(spec)
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

func templateOf(spec *v1.StackSpec) v1.WorkspaceTemplateSpec {
	if spec.WorkspaceTemplate == nil || spec.WorkspaceTemplate.Spec == nil {
		return v1.WorkspaceTemplateSpec{}
	}
	return *spec.WorkspaceTemplate.Spec
}
