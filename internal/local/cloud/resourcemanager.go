package cloud

import (
	"strconv"
	"strings"

	crm "google.golang.org/api/cloudresourcemanager/v1"
	crmv3 "google.golang.org/api/cloudresourcemanager/v3"
)

type resourceManager struct{ *Core }

// registerResourceManager adds the Resource Manager API to the emulator.
func registerResourceManager(c *Core) {
	s := &resourceManager{c}
	c.register(&service{
		name:       "cloudresourcemanager.googleapis.com",
		title:      "Cloud Resource Manager API",
		prefix:     "cloudresourcemanager",
		scopes:     []string{"https://www.googleapis.com/auth/cloudplatformprojects"},
		readScopes: []string{"https://www.googleapis.com/auth/cloud-platform.read-only", "https://www.googleapis.com/auth/cloudplatformprojects.readonly"},
		denied: func(_ principal, permission string, on resource) *apiError {
			return permissionDenied("The caller does not have permission").withInfo("IAM_PERMISSION_DENIED",
				"cloudresourcemanager.googleapis.com", map[string]string{"permission": permission, "resource": on.name})
		},
		routes: []route{
			{method: "GET", pattern: "v1/projects/{project}", permission: "resourcemanager.projects.get", handle: getProject},
			{method: "GET", pattern: "v3/projects/{project}", permission: "resourcemanager.projects.get", handle: getProjectV3},
			{method: "POST", pattern: "v1|v3/projects/{project}:getIamPolicy", permission: "resourcemanager.projects.getIamPolicy", handle: s.getProjectPolicy},
			{method: "POST", pattern: "v1|v3/projects/{project}:setIamPolicy", permission: "resourcemanager.projects.setIamPolicy", handle: s.setProjectPolicy},
			// The call tells callers their own permissions, so it needs none.
			{method: "POST", pattern: "v1|v3/projects/{project}:testIamPermissions", handle: s.testProjectPermissions},
		},
	})
}

func (s *resourceManager) getProjectPolicy(c *call) (any, error) {
	return s.getPolicy(c, projectPolicy(c.project.ID))
}

func (s *resourceManager) setProjectPolicy(c *call) (any, error) {
	return s.setPolicy(c, projectPolicy(c.project.ID), checkProjectPolicy)
}

func (s *resourceManager) testProjectPermissions(c *call) (any, error) {
	return s.testPermissions(c, onProject(c))
}

func getProject(c *call) (any, error) {
	return &crm.Project{
		ProjectId:      c.project.ID,
		ProjectNumber:  c.project.Number,
		Name:           c.project.ID,
		LifecycleState: "ACTIVE",
		CreateTime:     timestamp(c.project.Created),
	}, nil
}

func getProjectV3(c *call) (any, error) {
	return &crmv3.Project{
		Name:        "projects/" + strconv.FormatInt(c.project.Number, 10),
		ProjectId:   c.project.ID,
		DisplayName: c.project.ID,
		State:       "ACTIVE",
		CreateTime:  timestamp(c.project.Created),
		UpdateTime:  timestamp(c.project.Created),
	}, nil
}

// checkProjectPolicy refuses what a project without an organization refuses: public access, a new owner without an
// invitation from the console, and a policy without a user as an owner.
func checkProjectPolicy(policy, current *crm.Policy) error {
	owned := false
	for _, binding := range policy.Bindings {
		for _, member := range binding.Members {
			if kind, _, _ := strings.Cut(member, ":"); oneOf("allUsers|allAuthenticatedUsers|projectOwner|projectEditor|projectViewer", kind) {
				return invalidArgument("Members of type %s are not supported for this resource.", kind)
			}
			if binding.Role != "roles/owner" || strings.HasPrefix(member, "serviceAccount:") || strings.HasPrefix(member, "deleted:") {
				continue
			}
			if !hasMember(current, binding.Role, canonicalMember(member)) {
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

func ownerFault(kind, member string) *apiError {
	refusal := invalidArgument("Request contains an invalid argument.")
	refusal.Details = append(refusal.Details, &errorInfo{
		Type: "type.googleapis.com/google.cloudresourcemanager.v1.ProjectIamPolicyError", Kind: kind, Member: member, Role: "roles/owner",
	})
	return refusal
}
