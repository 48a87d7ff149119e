// Package iam emulates the Identity and Access Management API: service accounts, their keys and custom roles. It also
// emulates the call of OpenID Connect with which callers look up their own identity.
package iam

import (
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core"
	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authz"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

const (
	roleDeletions   store.Table = "roleDeletions"   // <project>/<role>
	deletedAccounts store.Table = "deletedAccounts" // <unique id>
)

// Tables returns the tables of the service.
func Tables() []store.Table { return []store.Table{roleDeletions, deletedAccounts} }

// service handles the calls.
type service struct{ *core.Core }

// Register adds the Identity and Access Management API and the user info of OpenID Connect to the emulator.
func Register(c *core.Core) {
	s := &service{c}
	c.Register(s.identityService())
	c.Register(s.accessService())
}

func (s *service) accessService() *api.Service {
	const (
		accounts = "v1/projects/{project}/serviceAccounts"
		account  = accounts + "/{account}"
		roles    = "v1/projects/{project}/roles"
		role     = roles + "/{role}"
	)
	return &api.Service{
		Name:    "iam.googleapis.com",
		Title:   "Identity and Access Management (IAM) API",
		Prefix:  "iam",
		Project: iamProject,
		Denied: func(_ api.Principal, permission string, _ api.Resource) *api.Error {
			return api.PermissionDenied("Permission '%s' denied on resource (or it may not exist).", permission).WithInfo(
				"IAM_PERMISSION_DENIED", "iam.googleapis.com", map[string]string{"permission": permission})
		},
		Routes: []api.Route{
			{Method: "POST", Pattern: accounts, Permission: "iam.serviceAccounts.create", Handle: s.createServiceAccount},
			{Method: "GET", Pattern: accounts, Permission: "iam.serviceAccounts.list", Handle: s.listServiceAccounts},
			{Method: "POST", Pattern: account + ":enable", Permission: "iam.serviceAccounts.enable", On: onAccount, Handle: s.setAccountDisabled(false)},
			{Method: "POST", Pattern: account + ":disable", Permission: "iam.serviceAccounts.disable", On: onAccount, Handle: s.setAccountDisabled(true)},
			{Method: "POST", Pattern: account + ":getIamPolicy", Permission: "iam.serviceAccounts.getIamPolicy", On: onAccount, Handle: s.getAccountPolicy},
			{Method: "POST", Pattern: account + ":setIamPolicy", Permission: "iam.serviceAccounts.setIamPolicy", On: onAccount, Handle: s.setAccountPolicy},
			// The call returns only the caller's own permissions, so it requires none.
			{Method: "POST", Pattern: account + ":testIamPermissions", Handle: s.testAccountPermissions},
			{Method: "GET", Pattern: account, Permission: "iam.serviceAccounts.get", On: onAccount, Handle: s.getServiceAccount},
			{Method: "PATCH", Pattern: account, Permission: "iam.serviceAccounts.update", On: onAccount, Handle: s.patchServiceAccount},
			{Method: "PUT", Pattern: account, Permission: "iam.serviceAccounts.update", On: onAccount, Handle: s.updateServiceAccount},
			{Method: "POST", Pattern: account + ":undelete", Permission: "iam.serviceAccounts.undelete", Handle: s.undeleteServiceAccount},
			{Method: "DELETE", Pattern: account, Permission: "iam.serviceAccounts.delete", On: onAccount, Handle: s.deleteServiceAccount},
			{Method: "POST", Pattern: account + "/keys", Permission: "iam.serviceAccountKeys.create", On: onAccount, Handle: s.createKey},
			{Method: "GET", Pattern: account + "/keys", Permission: "iam.serviceAccountKeys.list", On: onAccount, Handle: s.listKeys},
			{Method: "GET", Pattern: account + "/keys/{key}", Permission: "iam.serviceAccountKeys.get", On: onAccount, Handle: s.getKey},
			{Method: "DELETE", Pattern: account + "/keys/{key}", Permission: "iam.serviceAccountKeys.delete", On: onAccount, Handle: s.deleteKey},
			{Method: "POST", Pattern: account + "/keys/{key}:enable", Permission: "iam.serviceAccountKeys.enable", On: onAccount, Handle: s.setKeyDisabled(false)},
			{Method: "POST", Pattern: account + "/keys/{key}:disable", Permission: "iam.serviceAccountKeys.disable", On: onAccount, Handle: s.setKeyDisabled(true)},
			{Method: "POST", Pattern: roles, Permission: "iam.roles.create", Handle: s.createRole},
			{Method: "GET", Pattern: roles, Permission: "iam.roles.list", Handle: s.listRoles},
			{Method: "POST", Pattern: role + ":undelete", Permission: "iam.roles.undelete", Handle: s.undeleteRole},
			{Method: "GET", Pattern: role, Permission: "iam.roles.get", Handle: s.getRole},
			{Method: "PATCH", Pattern: role, Permission: "iam.roles.update", Handle: s.patchRole},
			{Method: "DELETE", Pattern: role, Permission: "iam.roles.delete", Handle: s.deleteRole},
			// Every caller may read the predefined roles.
			{Method: "GET", Pattern: "v1/roles/{role}", Handle: getPredefinedRole},
		},
	}
}

func getPredefinedRole(c *api.Call) (any, error) {
	role := authz.PredefinedRoles()["roles/"+c.Vars["role"]]
	if role == nil {
		return nil, api.NotFound("The role named roles/%s was not found.", c.Vars["role"])
	}
	return &iam.Role{Name: role.Name, Title: role.Title, Stage: role.Stage, Etag: "AA==", IncludedPermissions: role.Permissions}, nil
}
