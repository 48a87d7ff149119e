package bootstrap

import (
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// TenantRole is the ID of the project's custom role that every team's Google account has.
//
// No predefined role fits: roles/cloudsql.admin is the narrowest one with cloudsql.users.create, and it may change and
// delete instances.
const TenantRole = "strataTenant"

// TenantPermissions returns the permissions that a Program needs to create databases and users on the shared instance,
// sorted.
//
// Waiting for an operation and looking up the instance both need cloudsql.instances.get. The team's pods connect to an
// instance with a public address only through the Auth Proxy, which needs cloudsql.instances.connect. The users of a
// database decide what the pods may do in it.
func TenantPermissions() []string {
	return []string{
		"cloudsql.databases.create",
		"cloudsql.databases.delete",
		"cloudsql.databases.get",
		"cloudsql.databases.list",
		"cloudsql.databases.update",
		"cloudsql.instances.connect",
		"cloudsql.instances.get",
		"cloudsql.users.create",
		"cloudsql.users.delete",
		"cloudsql.users.get",
		"cloudsql.users.list",
		"cloudsql.users.update",
	}
}

// newTenantRole creates the custom role. Google reserves the ID of a deleted role for weeks. If the role is created again
// within seven days, the provider undeletes it; later Google does not allow that.
func newTenantRole(ctx *pulumi.Context, config Config, opts ...pulumi.ResourceOption) (*projects.IAMCustomRole, error) {
	return projects.NewIAMCustomRole(ctx, "tenant-role", &projects.IAMCustomRoleArgs{
		RoleId:      pulumi.String(TenantRole),
		Title:       pulumi.String("Strata tenant"),
		Description: pulumi.String("Databases and users on existing Cloud SQL instances."),
		Permissions: pulumi.ToStringArray(TenantPermissions()),
		Project:     pulumi.String(config.Project),
	}, opts...)
}
