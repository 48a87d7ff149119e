package bootstrap

import (
	"slices"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/identity"
	"github.com/strata-platform/strata/components/statebucket"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/teams"
)

// tenant creates a team's resources in Google Cloud, and the passphrase of its state.
type tenant struct {
	config Config
	team   teams.Team
	// role is the role of the team's account in the project, and buckets that of an entry of the catalogue that creates
	// buckets; nil if there is no such entry.
	role, buckets *projects.IAMCustomRole
	// pool is the Workload Identity pool of the cluster.
	pool pulumi.StringInput
}

func (t tenant) make(ctx *pulumi.Context, opts ...pulumi.ResourceOption) (handoff.BootstrapTenantOutputs, error) {
	account, err := t.identity(ctx, opts...)
	if err != nil {
		return handoff.BootstrapTenantOutputs{}, err
	}
	if err := t.grantBuckets(ctx, account, opts...); err != nil {
		return handoff.BootstrapTenantOutputs{}, err
	}
	key, err := t.config.keys(ctx, account, "team-"+t.team.Name, opts...)
	if err != nil {
		return handoff.BootstrapTenantOutputs{}, err
	}
	passphrase, former, err := t.passphrases(ctx, opts...)
	if err != nil {
		return handoff.BootstrapTenantOutputs{}, err
	}
	provider, err := t.secretsProvider(ctx, account, opts...)
	if err != nil {
		return handoff.BootstrapTenantOutputs{}, err
	}
	// Nobody can read the secrets of a state without its passphrase. If a destroy of the layer stops halfway, the
	// passphrase must still exist, so the backend depends on it.
	backend, err := t.backend(ctx, account, append(slices.Clone(opts), pulumi.DependsOn([]pulumi.Resource{passphrase}))...)
	return handoff.BootstrapTenantOutputs{
		Account: account.Email, Backend: backend, Credentials: key.current, FormerCredentials: key.former,
		Passphrase: passphrase.Result, FormerPassphrase: former, Provider: provider,
	}, err
}

// identity creates the team's Google account. Pods and runs act as that account by Workload Identity if they run under a
// Kubernetes account that may run Stacks.
func (t tenant) identity(ctx *pulumi.Context, opts ...pulumi.ResourceOption) (*identity.Identity, error) {
	args := &identity.IdentityArgs{
		AccountID:   pulumi.String(t.team.GoogleAccountID()),
		DisplayName: pulumi.String("Team " + t.team.Name),
		Project:     pulumi.String(t.config.Project),
		Roles:       t.config.TenantRoles,
	}
	t.config.firstKey(args)
	if t.team.MayDeclare("gcp", "sql") {
		args.CustomRoles = pulumi.StringMap{"tenant": t.role.Name}
	} else if t.team.Offer == "" && !slices.Contains(args.Roles, clientRole) {
		args.Roles = append(slices.Clone(args.Roles), clientRole)
	}
	for _, name := range t.team.StackAccounts() {
		args.KubernetesAccounts = append(args.KubernetesAccounts, identity.KubernetesAccount{
			WorkloadPool: t.pool, Namespace: t.team.Namespace(), Name: name,
		})
	}
	return identity.NewIdentity(ctx, "team-"+t.team.Name, args, opts...)
}

// clientRole is the role of a team that may declare no database. Its pods connect to the databases that it orders through
// the Auth Proxy, and its identity can change no database and no user.
const clientRole = "roles/cloudsql.client"

// backend returns the URL of the backend for the state of the team's Stacks. It creates a bucket unless TenantBackend is
// set. Only the team's account and the administrators of the project's storage can read and write that bucket.
func (t tenant) backend(ctx *pulumi.Context, account *identity.Identity, opts ...pulumi.ResourceOption) (pulumi.StringInput, error) {
	if t.config.TenantBackend != "" {
		return pulumi.String(t.config.backend(t.team.Name)), nil
	}
	bucket, err := statebucket.NewBucket(ctx, "team-"+t.team.Name+"-state", &statebucket.BucketArgs{
		Name:         pulumi.String(t.config.bucket(t.team.Name)),
		Project:      pulumi.String(t.config.Project),
		Location:     pulumi.String(t.config.Region),
		Member:       account.Member,
		ForceDestroy: pulumi.Bool(!t.config.DeletionProtection),
	}, opts...)
	if err != nil {
		return nil, err
	}
	return bucket.URL, nil
}
