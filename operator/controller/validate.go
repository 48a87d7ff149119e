package controller

import (
	"fmt"
	"strings"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// stall is an error that passes only when something changes: the object itself or
// what wakes it.
type stall struct {
	reason, message string
}

// Error implements error.
func (s *stall) Error() string { return s.message }

func invalid(format string, args ...any) error {
	return &stall{reason: v1.StalledSpecInvalidReason, message: fmt.Sprintf(format, args...)}
}

// validate refuses a spec that this operator would not apply in full.
func validate(spec *v1.StackSpec) error {
	if fields := unsupported(spec); len(fields) > 0 {
		return invalid("%s: not supported by this operator yet: remove it", strings.Join(fields, ", "))
	}
	if spec.ProgramRef == nil {
		return invalid("no source: set spec.programRef")
	}
	if spec.ExpectNoRefreshChanges && !spec.Refresh {
		return invalid("spec.expectNoRefreshChanges: has no effect without spec.refresh: set it, or remove this one")
	}
	return nil
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

// unsupported names the fields that are set but would have no effect although
// they should.
func unsupported(spec *v1.StackSpec) []string {
	template := templateOf(spec)
	return names([]field{
		{"spec.projectRepo", spec.ProjectRepo != ""},
		{"spec.repoDir", spec.RepoDir != ""},
		{"spec.commit", spec.Commit != ""},
		{"spec.branch", spec.Branch != ""},
		{"spec.shallow", spec.Shallow},
		{"spec.gitAuth", spec.GitAuth != nil},
		{"spec.gitAuthSecret", spec.GitAuthSecret != ""},
		{"spec.fluxSource", spec.FluxSource != nil},
		{"spec.prerequisites", len(spec.Prerequisites) > 0},
		{"spec.environment", len(spec.Environment) > 0},
		{"spec.updateTemplate", spec.UpdateTemplate != nil},
		{"spec.workspaceTemplate.spec.git", template.Git != nil},
		{"spec.workspaceTemplate.spec.flux", template.Flux != nil},
		{"spec.workspaceTemplate.spec.local", template.Local != nil},
		{"spec.workspaceTemplate.spec.projectInfo", template.ProjectInfo != nil},
		{"spec.workspaceTemplate.spec.env", len(template.Env) > 0},
		{"spec.workspaceTemplate.spec.envFrom", len(template.EnvFrom) > 0},
		{"spec.workspaceTemplate.spec.stacks", len(template.Stacks) > 0},
	})
}

// notApplied names the fields that are set and only shape a pod, which this
// operator does not make.
func notApplied(spec *v1.StackSpec) []string {
	template := templateOf(spec)
	return names([]field{
		{"spec.workspaceTemplate.spec.image", template.Image != nil},
		{"spec.workspaceTemplate.spec.imagePullPolicy", template.ImagePullPolicy != nil},
		{"spec.workspaceTemplate.spec.securityProfile", template.SecurityProfile != nil},
		{"spec.workspaceTemplate.spec.resources", template.Resources != nil},
		{"spec.workspaceTemplate.spec.podTemplate", template.PodTemplate != nil},
		{"spec.workspaceTemplate.spec.serviceTemplate", template.ServiceTemplate != nil},
		{"spec.workspaceTemplate.spec.pulumiLogLevel", template.PulumiLogLevel != nil},
	})
}

func templateOf(spec *v1.StackSpec) v1.WorkspaceTemplateSpec {
	if spec.WorkspaceTemplate == nil || spec.WorkspaceTemplate.Spec == nil {
		return v1.WorkspaceTemplateSpec{}
	}
	return *spec.WorkspaceTemplate.Spec
}
