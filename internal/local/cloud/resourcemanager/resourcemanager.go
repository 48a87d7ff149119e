// Package resourcemanager emulates the Resource Manager API: projects and their IAM policies.
package resourcemanager

import (
	"strconv"
	"strings"

	crm "google.golang.org/api/cloudresourcemanager/v1"
	crmv3 "google.golang.org/api/cloudresourcemanager/v3"

	"github.com/strata-platform/strata/internal/local/cloud/core"
	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authz"
)

// service handles the calls.
type service struct{ *core.Core }

// Register adds the Resource Manager API to the emulator.
func Register(c *core.Core) {
	s := &service{c}
	c.Register(&api.Service{
		Name:       "cloudresourcemanager.googleapis.com",
		Title:      "Cloud Resource Manager API",
		Prefix:     "cloudresourcemanager",
		Scopes:     []string{"https://www.googleapis.com/auth/cloudplatformprojects"},
		ReadScopes: []string{"https://www.googleapis.com/auth/cloud-platform.read-only", "https://www.googleapis.com/auth/cloudplatformprojects.readonly"},
		Denied: func(_ api.Principal, permission string, on api.Resource) *api.Error {
			return api.PermissionDenied("The caller does not have permission").WithInfo("IAM_PERMISSION_DENIED",
				"cloudresourcemanager.googleapis.com", map[string]string{"permission": permission, "resource": on.Name})
		},
		Routes: []api.Route{
			{Method: "GET", Pattern: "v1/projects/{project}", Permission: "resourcemanager.projects.get", Handle: getProject},
			{Method: "GET", Pattern: "v3/projects/{project}", Permission: "resourcemanager.projects.get", Handle: getProjectV3},
			{Method: "POST", Pattern: "v1|v3/projects/{project}:getIamPolicy", Permission: "resourcemanager.projects.getIamPolicy", Handle: s.getProjectPolicy},
			{Method: "POST", Pattern: "v1|v3/projects/{project}:setIamPolicy", Permission: "resourcemanager.projects.setIamPolicy", Handle: s.setProjectPolicy},
			// The call returns only the caller's own permissions, so it requires none.
			{Method: "POST", Pattern: "v1|v3/projects/{project}:testIamPermissions", Handle: s.testProjectPermissions},
		},
	})
}

func (s *service) getProjectPolicy(c *api.Call) (any, error) {
	return s.GetPolicy(c, authz.ProjectPolicy(c.Project.ID))
}

func (s *service) setProjectPolicy(c *api.Call) (any, error) {
	return s.SetPolicy(c, authz.ProjectPolicy(c.Project.ID), checkProjectPolicy)
}

func (s *service) testProjectPermissions(c *api.Call) (any, error) {
	return s.TestPermissions(c, api.OnProject(c))
}

func getProject(c *api.Call) (any, error) {
	return &crm.Project{
		ProjectId:      c.Project.ID,
		ProjectNumber:  c.Project.Number,
		Name:           c.Project.ID,
		LifecycleState: "ACTIVE",
		CreateTime:     api.Timestamp(c.Project.Created),
	}, nil
}

func getProjectV3(c *api.Call) (any, error) {
	return &crmv3.Project{
		Name:        "projects/" + strconv.FormatInt(c.Project.Number, 10),
		ProjectId:   c.Project.ID,
		DisplayName: c.Project.ID,
		State:       "ACTIVE",
		CreateTime:  api.Timestamp(c.Project.Created),
		UpdateTime:  api.Timestamp(c.Project.Created),
	}, nil
}

// checkProjectPolicy returns an error for a policy that Google Cloud rejects on a project without an organization: with
// public access, with a new owner, who needs an invitation from the console, or without a user as an owner.
func checkProjectPolicy(policy, current *crm.Policy) error {
	owned := false
	for _, binding := range policy.Bindings {
		for _, member := range binding.Members {
			if kind, _, _ := strings.Cut(member, ":"); api.OneOf("allUsers|allAuthenticatedUsers|projectOwner|projectEditor|projectViewer", kind) {
				return api.InvalidArgument("Members of type %s are not supported for this resource.", kind)
			}
			if binding.Role != "roles/owner" || strings.HasPrefix(member, "serviceAccount:") || strings.HasPrefix(member, "deleted:") {
				continue
			}
			if !authz.HasMember(current, binding.Role, authz.CanonicalMember(member)) {
				return ownerFault("SOLO_MUST_INVITE_OWNERS", member)
			}
			owned = true
		}
	}
	if !owned {
		return ownerFault("SOLO_REQUIRE_TOS_ACCEPTOR", "")
	}
	return nil
}

func ownerFault(kind, member string) *api.Error {
	refusal := api.InvalidArgument("Request contains an invalid argument.")
	refusal.Details = append(refusal.Details, &api.ErrorInfo{
		Type: "type.googleapis.com/google.cloudresourcemanager.v1.ProjectIamPolicyError", Kind: kind, Member: member, Role: "roles/owner",
	})
	return refusal
}
