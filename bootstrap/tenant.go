package bootstrap

import (
	"slices"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"github.com/pulumi/pulumi-random/sdk/v4/go/random"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/urn"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/identity"
	"github.com/strata-platform/strata/components/statebucket"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/teams"
)

// tenant makes what a team gets in Google Cloud, and the passphrase of its state.
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
	passphrase, err := t.passphrase(ctx, opts...)
	if err != nil {
		return handoff.BootstrapTenantOutputs{}, err
	}
	// A state whose passphrase is gone is read by nobody: where the layer is destroyed halfway, the passphrase is still there.
	backend, err := t.backend(ctx, account, append(slices.Clone(opts), pulumi.DependsOn([]pulumi.Resource{passphrase}))...)
	return handoff.BootstrapTenantOutputs{
		Account: account.Email, Backend: backend, Credentials: account.Credentials, Passphrase: passphrase.Result,
	}, err
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

// passphraseLength gives more entropy than the key that is derived from the passphrase.
const passphraseLength = 48

// passphrase encrypts the secrets in the state of the team's Stacks. It is made beside that state, not with the team's
// namespace: what a Stack made without destroyOnFinalize, and the stack itself, outlive the cluster's objects.
func (t tenant) passphrase(ctx *pulumi.Context, opts ...pulumi.ResourceOption) (*random.RandomPassword, error) {
	return random.NewRandomPassword(ctx, passphraseName(t.team.Namespace()), &random.RandomPasswordArgs{
		Length:  pulumi.Int(passphraseLength),
		Special: pulumi.Bool(false),
	}, opts...)
}

func passphraseName(namespace string) string { return namespace + "-passphrase" }

// PassphraseURN names the passphrase of a team, which a namespace stands for, among the resources of the layer's stack.
func PassphraseURN(stack, namespace string) string {
	const token = "random:index/randomPassword:RandomPassword"
	return string(urn.New(tokens.QName(stack), Project, "", token, passphraseName(namespace)))
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
