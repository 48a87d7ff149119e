package bootstrap

import (
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/identity"
	"github.com/strata-platform/strata/handoff"
)

// PlanRole is the ID of the project's custom role of the Google account with which the operator answers the look-ups of plans.
const PlanRole = "strataPlan"

// PlanPermissions returns the permissions of that role. Nobody has reviewed the code of a plan, so the role contains only what a
// Program has to look up: the instance that the teams share. Databases and users would reveal the names of other teams.
//
// No predefined role fits: roles/cloudsql.viewer also lists databases and users, and exports data.
func PlanPermissions() []string { return []string{"cloudsql.instances.get"} }

// newPlanIdentity creates the account, and returns its e-mail address. The operator's own account in the cluster may act as it, without
// a key. Upstream's operator has no plans, and this layer does not know which operator the next one installs.
func newPlanIdentity(ctx *pulumi.Context, config Config, pool pulumi.StringInput, opts ...pulumi.ResourceOption) (pulumi.StringInput, error) {
	role, err := projects.NewIAMCustomRole(ctx, "plan-role", &projects.IAMCustomRoleArgs{
		RoleId:      pulumi.String(PlanRole),
		Title:       pulumi.String("Strata plan"),
		Description: pulumi.String("Look-ups of commits that nobody has reviewed."),
		Permissions: pulumi.ToStringArray(PlanPermissions()),
		Project:     pulumi.String(config.Project),
	}, opts...)
	if err != nil {
		return nil, err
	}
	account, err := identity.NewIdentity(ctx, "plans", &identity.IdentityArgs{
		AccountID:   pulumi.String("strata-plan"),
		DisplayName: pulumi.String("Plans of commits"),
		Project:     pulumi.String(config.Project),
		CustomRoles: map[string]pulumi.StringInput{"plan": role.Name},
		KubernetesAccounts: []identity.KubernetesAccount{
			{WorkloadPool: pool, Namespace: handoff.OperatorNamespace, Name: handoff.OperatorAccount},
		},
	}, opts...)
	if err != nil {
		return nil, err
	}
	return account.Email, nil
}

// keyKeepers returns the values whose change replaces the keys of the layer, or nil.
func (c Config) keyKeepers() pulumi.StringMapInput {
	if c.TenantKeyRotation == "" {
		return nil
	}
	return pulumi.StringMap{"rotation": pulumi.String(c.TenantKeyRotation)}
}
