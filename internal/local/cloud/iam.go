package cloud

import "google.golang.org/api/iam/v1"

const (
	roleDeletions   table = "roleDeletions"   // <project>/<role>
	deletedAccounts table = "deletedAccounts" // <unique id>
)

// iamTables returns the tables of the service.
func iamTables() []table { return []table{roleDeletions, deletedAccounts} }

type iamService struct{ *Core }

// registerIAM adds the Identity and Access Management API and the user info of OpenID Connect to the emulator.
func registerIAM(c *Core) {
	s := &iamService{c}
	c.register(s.identityService())
	c.register(s.accessService())
}

func (s *iamService) accessService() *service {
	const (
		accounts = "v1/projects/{project}/serviceAccounts"
		account  = accounts + "/{account}"
		roles    = "v1/projects/{project}/roles"
		role     = roles + "/{role}"
	)
	return &service{
		name:    "iam.googleapis.com",
		title:   "Identity and Access Management (IAM) API",
		prefix:  "iam",
		project: iamProject,
		denied: func(_ principal, permission string, _ resource) *apiError {
			return permissionDenied("Permission '%s' denied on resource (or it may not exist).", permission).withInfo(
				"IAM_PERMISSION_DENIED", "iam.googleapis.com", map[string]string{"permission": permission})
		},
		routes: []route{
			{method: "POST", pattern: accounts, permission: "iam.serviceAccounts.create", handle: s.createServiceAccount},
			{method: "GET", pattern: accounts, permission: "iam.serviceAccounts.list", handle: s.listServiceAccounts},
			{method: "POST", pattern: account + ":enable", permission: "iam.serviceAccounts.enable", on: onAccount, handle: s.setAccountDisabled(false)},
			{method: "POST", pattern: account + ":disable", permission: "iam.serviceAccounts.disable", on: onAccount, handle: s.setAccountDisabled(true)},
			{method: "POST", pattern: account + ":getIamPolicy", permission: "iam.serviceAccounts.getIamPolicy", on: onAccount, handle: s.getAccountPolicy},
			{method: "POST", pattern: account + ":setIamPolicy", permission: "iam.serviceAccounts.setIamPolicy", on: onAccount, handle: s.setAccountPolicy},
			// The call tells callers their own permissions, so it needs none.
			{method: "POST", pattern: account + ":testIamPermissions", handle: s.testAccountPermissions},
			{method: "GET", pattern: account, permission: "iam.serviceAccounts.get", on: onAccount, handle: s.getServiceAccount},
			{method: "PATCH", pattern: account, permission: "iam.serviceAccounts.update", on: onAccount, handle: s.patchServiceAccount},
			{method: "PUT", pattern: account, permission: "iam.serviceAccounts.update", on: onAccount, handle: s.updateServiceAccount},
			{method: "POST", pattern: account + ":undelete", permission: "iam.serviceAccounts.undelete", handle: s.undeleteServiceAccount},
			{method: "DELETE", pattern: account, permission: "iam.serviceAccounts.delete", on: onAccount, handle: s.deleteServiceAccount},
			{method: "POST", pattern: account + "/keys", permission: "iam.serviceAccountKeys.create", on: onAccount, handle: s.createKey},
			{method: "GET", pattern: account + "/keys", permission: "iam.serviceAccountKeys.list", on: onAccount, handle: s.listKeys},
			{method: "GET", pattern: account + "/keys/{key}", permission: "iam.serviceAccountKeys.get", on: onAccount, handle: s.getKey},
			{method: "DELETE", pattern: account + "/keys/{key}", permission: "iam.serviceAccountKeys.delete", on: onAccount, handle: s.deleteKey},
			{method: "POST", pattern: account + "/keys/{key}:enable", permission: "iam.serviceAccountKeys.enable", on: onAccount, handle: s.setKeyDisabled(false)},
			{method: "POST", pattern: account + "/keys/{key}:disable", permission: "iam.serviceAccountKeys.disable", on: onAccount, handle: s.setKeyDisabled(true)},
			{method: "POST", pattern: roles, permission: "iam.roles.create", handle: s.createRole},
			{method: "GET", pattern: roles, permission: "iam.roles.list", handle: s.listRoles},
			{method: "POST", pattern: role + ":undelete", permission: "iam.roles.undelete", handle: s.undeleteRole},
			{method: "GET", pattern: role, permission: "iam.roles.get", handle: s.getRole},
			{method: "PATCH", pattern: role, permission: "iam.roles.update", handle: s.patchRole},
			{method: "DELETE", pattern: role, permission: "iam.roles.delete", handle: s.deleteRole},
			// Every caller may read the predefined roles.
			{method: "GET", pattern: "v1/roles/{role}", handle: getPredefinedRole},
		},
	}
}

func getPredefinedRole(c *call) (any, error) {
	role := predefinedRoles()["roles/"+c.vars["role"]]
	if role == nil {
		return nil, notFound("The role named roles/%s was not found.", c.vars["role"])
	}
	return &iam.Role{Name: role.name, Title: role.title, Stage: role.stage, Etag: "AA==", IncludedPermissions: role.permissions}, nil
}
