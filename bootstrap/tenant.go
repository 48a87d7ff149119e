package bootstrap

import (
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/identity"
	"github.com/strata-platform/strata/components/statebucket"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/teams"
)

// tenant makes what a team gets in Google Cloud.
type tenant struct {
	config Config
	team   teams.Team
	// role is what the team's account has in the project.
	role *projects.IAMCustomRole
	// pool is that of the identities of the cluster's accounts.
	pool pulumi.StringInput
}

func (t tenant) make(ctx *pulumi.Context, opts ...pulumi.ResourceOption) (handoff.BootstrapTenantOutputs, error) {
	account, err := t.identity(ctx, opts...)
	if err != nil {
		return handoff.BootstrapTenantOutputs{}, err
	}
	backend, err := t.backend(ctx, account, opts...)
	return handoff.BootstrapTenantOutputs{Account: account.Email, Backend: backend, Credentials: account.Credentials}, err
}

// identity is the team's account. The team's Stacks act as it: with its key, or as the Kubernetes accounts that may run
// Stacks.
func (t tenant) identity(ctx *pulumi.Context, opts ...pulumi.ResourceOption) (*identity.Identity, error) {
	args := &identity.Args{
		AccountID:   t.team.GoogleAccountID(),
		DisplayName: "Team " + t.team.Name,
		Project:     pulumi.String(t.config.Project),
		Roles:       t.config.TenantRoles,
		CustomRoles: pulumi.StringMap{"tenant": t.role.Name},
		Key:         t.config.TenantKeys,
	}
	if t.config.TenantKeyRotation != "" {
		args.KeyKeepers = pulumi.StringMap{"rotation": pulumi.String(t.config.TenantKeyRotation)}
	}
	if !t.config.TenantKeys {
		for _, name := range t.team.StackAccounts() {
			args.KubernetesAccounts = append(args.KubernetesAccounts, identity.KubernetesAccount{
				WorkloadPool: t.pool, Namespace: t.team.Namespace(), Name: name,
			})
		}
	}
	return identity.New(ctx, "team-"+t.team.Name, args, opts...)
}

// backend is where the state of the team's Stacks is kept: a bucket that nobody but the team's account reads and writes,
// and whoever administers the project's storage.
func (t tenant) backend(ctx *pulumi.Context, account *identity.Identity, opts ...pulumi.ResourceOption) (pulumi.StringInput, error) {
	if t.config.TenantBackend != "" {
		return pulumi.String(t.config.backend(t.team.Name)), nil
	}
	bucket, err := statebucket.New(ctx, "team-"+t.team.Name+"-state", &statebucket.Args{
		Name:         t.config.bucket(t.team.Name),
		Project:      pulumi.String(t.config.Project),
		Location:     pulumi.String(t.config.Region),
		Member:       account.Member,
		ForceDestroy: !t.config.DeletionProtection,
	}, opts...)
	if err != nil {
		return nil, err
	}
	return bucket.URL, nil
}
