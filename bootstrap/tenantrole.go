package bootstrap

import (
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// TenantRole is the id of the project's custom role that every team's Google account has.
//
// No predefined role will do: of those that hold cloudsql.users.create, roles/cloudsql.admin is the narrowest, and it may
// change and delete instances.
const TenantRole = "strataTenant"

// TenantPermissions is what a Program needs that makes databases and users on the shared instance, sorted.
//
// The waiting for an operation and the look-up of the instance both need cloudsql.instances.get. The team's pods reach an
// instance with a public address through the Auth Proxy only, which takes cloudsql.instances.connect; what they may do in
// a database is decided by its users.
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

// newTenantRole makes the custom role. Google keeps a deleted role's id for weeks; the provider brings the role back when
// it is made again within the seven days in which that is possible.
func newTenantRole(ctx *pulumi.Context, config Config, opts ...pulumi.ResourceOption) (*projects.IAMCustomRole, error) {
	return projects.NewIAMCustomRole(ctx, "tenant-role", &projects.IAMCustomRoleArgs{
		RoleId:      pulumi.String(TenantRole),
		Title:       pulumi.String("Strata tenant"),
		Description: pulumi.String("Databases and users on existing Cloud SQL instances."),
		Permissions: pulumi.ToStringArray(TenantPermissions()),
		Project:     pulumi.String(config.Project),
	}, opts...)
}
