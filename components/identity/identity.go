// Package identity creates a Google service account with exactly the given roles, lets Kubernetes accounts impersonate
// it, and creates a key only on request.
//
//	account, err := identity.NewIdentity(ctx, "team-web", &identity.IdentityArgs{
//		AccountID: pulumi.String("team-web"),
//		Project:   pulumi.String("acme-dev"),
//		Roles:     []string{"roles/cloudsql.client"},
//		KubernetesAccounts: []identity.KubernetesAccount{
//			{WorkloadPool: cluster.WorkloadPool, Namespace: "team-web", Name: "web"},
//		},
//	})
//
// Each role is a binding of its own, so that this package neither reads nor removes a role that somebody else grants. It
// refuses roles that cover the whole project, set IAM policy or act as another account, unless the caller overrides the
// refusal with a reason in words.
package identity

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/serviceaccount"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/component"
	"github.com/strata-platform/strata/components/internal/inputs"
)

// Type is the component's type token.
const Type = "strata:index:Identity"

var accountID = regexp.MustCompile(`^[a-z][a-z0-9-]{4,28}[a-z0-9]$`)

// IdentityArgs describes an identity. Roles, Overrides, KubernetesAccounts and Key are plain values, because NewIdentity
// checks the roles and creates a resource for each of them.
//
//nolint:revive // Pulumi users expect the arguments of NewIdentity under this name
type IdentityArgs struct {
	// AccountID is the part of the account's e-mail address before the @: 6 to 30 lower-case letters, digits and hyphens.
	// Required. A different ID means a different account. NewIdentity checks a plain ID, Google Cloud a computed one.
	AccountID pulumi.StringInput `pulumi:"accountId"`
	// DisplayName is the account's name in lists; nil means AccountID.
	DisplayName pulumi.StringInput `pulumi:"displayName,optional"`
	// Project is the project of the account and of its roles. Required.
	Project pulumi.StringInput `pulumi:"project"`
	// Roles are the account's roles on Project, one binding each; none means an account without permissions.
	Roles []string `pulumi:"roles,optional"`
	// CustomRoles are custom roles that the program itself creates, granted on Project too. The value is the role's full
	// name, as an IAMCustomRole outputs it. The key distinguishes its binding in URNs. NewIdentity checks only that the role
	// is a custom role. The program must keep its permissions narrow.
	CustomRoles map[string]pulumi.StringInput `pulumi:"customRoles,optional"`
	// Overrides gives, for a refused role, the reason in words why this identity needs it nevertheless.
	Overrides map[string]string `pulumi:"overrides,optional"`
	// KubernetesAccounts may impersonate the identity by Workload Identity, without a key. Each has one binding.
	KubernetesAccounts []KubernetesAccount `pulumi:"kubernetesAccounts,optional"`
	// Key creates a key, for workloads that have no other way to authenticate. Prefer none.
	Key bool `pulumi:"key,optional"`
	// KeyKeepers replace the key when one of them changes. The engine creates the new key before it deletes the old one.
	// Requires Key.
	KeyKeepers pulumi.StringMapInput `pulumi:"keyKeepers,optional"`
}

// KubernetesAccount is a service account in a cluster. NewIdentity creates its binding. The Kubernetes account itself also
// needs the annotation iam.gke.io/gcp-service-account with the identity's e-mail address.
type KubernetesAccount struct {
	// WorkloadPool is the cluster's Workload Identity pool. Required. It must depend on what creates the pool, as
	// gke.Cluster's WorkloadPool does.
	WorkloadPool pulumi.StringInput `pulumi:"workloadPool"`
	// Namespace is the account's namespace. Required. It is a plain value, because it names the binding.
	Namespace string `pulumi:"namespace"`
	// Name is the account's name. Required. It is a plain value, because it names the binding.
	Name string `pulumi:"name"`
}

// workloadRole lets a Kubernetes account impersonate the Google account that the binding is on, and no other.
const workloadRole = "roles/iam.workloadIdentityUser"

// Identity is a service account with its roles.
type Identity struct {
	pulumi.ResourceState

	// Email is the account's e-mail address.
	Email pulumi.StringOutput `pulumi:"email"`
	// Member is the account in the form of a member of an IAM binding.
	Member pulumi.StringOutput `pulumi:"member"`
	// Credentials is the content of the key file, a secret; empty without a key.
	Credentials pulumi.StringOutput `pulumi:"credentials"`
}

// NewIdentity creates the account, its bindings and, on request, its key.
func NewIdentity(ctx *pulumi.Context, name string, args *IdentityArgs, opts ...pulumi.ResourceOption) (*Identity, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("create identity %s: %w", name, err)
	}
	identity := &Identity{}
	properties := pulumi.Map{
		"accountId": args.AccountID, "project": args.Project,
		"roles": pulumi.ToStringArray(args.Roles), "key": pulumi.Bool(args.Key),
	}
	if err := component.Register(ctx, Type, name, properties, identity, opts...); err != nil {
		return nil, fmt.Errorf("create identity %s: %w", name, err)
	}
	if err := identity.populate(ctx, name, args); err != nil {
		return nil, fmt.Errorf("create identity %s: %w", name, err)
	}
	return identity, ctx.RegisterResourceOutputs(identity, pulumi.Map{
		"email": identity.Email, "member": identity.Member, "credentials": identity.Credentials,
	})
}

// populate creates the children. It sorts the roles, so that each run registers their bindings in the same order.
func (i *Identity) populate(ctx *pulumi.Context, name string, args *IdentityArgs) error {
	account, err := serviceaccount.NewAccount(ctx, name+"-account", &serviceaccount.AccountArgs{
		AccountId:   args.AccountID,
		DisplayName: inputs.Optional(inputs.Or(args.DisplayName, args.AccountID)),
		Project:     args.Project,
	}, pulumi.Parent(i))
	if err != nil {
		return err
	}
	i.Email = account.Email
	i.Member = pulumi.Sprintf("serviceAccount:%s", account.Email)

	roles := pulumi.StringMap{}
	for _, role := range args.Roles {
		roles[roleSuffix(role)] = pulumi.String(role)
	}
	for key, role := range args.CustomRoles {
		roles[key] = role.ToStringOutput().ApplyT(customRole).(pulumi.StringOutput)
	}
	for _, key := range slices.Sorted(maps.Keys(roles)) {
		_, err := projects.NewIAMMember(ctx, name+"-"+key, &projects.IAMMemberArgs{
			Project: args.Project,
			Role:    roles[key],
			Member:  i.Member,
		}, pulumi.Parent(i))
		if err != nil {
			return err
		}
	}

	for _, who := range args.KubernetesAccounts {
		_, err := serviceaccount.NewIAMMember(ctx, name+"-workload-"+who.suffix(), &serviceaccount.IAMMemberArgs{
			ServiceAccountId: account.Name,
			Role:             pulumi.String(workloadRole),
			Member:           pulumi.Sprintf("serviceAccount:%s[%s/%s]", who.WorkloadPool, who.Namespace, who.Name),
		}, pulumi.Parent(i))
		if err != nil {
			return err
		}
	}
	return i.makeKey(ctx, name, account, args)
}

// suffix distinguishes the bindings of one identity in URNs.
func (k KubernetesAccount) suffix() string { return k.Namespace + "-" + k.Name }

func (i *Identity) makeKey(ctx *pulumi.Context, name string, account *serviceaccount.Account, args *IdentityArgs) error {
	i.Credentials = pulumi.ToSecret(pulumi.String("")).(pulumi.StringOutput)
	if !args.Key {
		return nil
	}
	key, err := serviceaccount.NewKey(ctx, name+"-key", &serviceaccount.KeyArgs{
		ServiceAccountId: account.Name,
		Keepers:          inputs.OptionalMap(args.KeyKeepers),
		// Key rotation replaces the key. The engine refuses to replace a protected resource.
	}, pulumi.Parent(i), pulumi.Protect(false), pulumi.AdditionalSecretOutputs([]string{"privateKey"}))
	if err != nil {
		return err
	}
	i.Credentials = pulumi.ToSecret(key.PrivateKey.ApplyT(KeyFile)).(pulumi.StringOutput)
	return nil
}

// KeyFile decodes the API's base64 encoding of a key file. Its error never quotes the value.
func KeyFile(encoded string) (string, error) {
	content, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", fmt.Errorf("the private key that Google returned is not base64")
	}
	return string(content), nil
}

func (a *IdentityArgs) check() error {
	var problems []string
	if id := inputs.Text(a.AccountID); inputs.Missing(a.AccountID) || id != "" && !accountID.MatchString(id) {
		problems = append(problems, fmt.Sprintf("account ID %q must be 6 to 30 lower-case letters, digits and hyphens that begin with a letter", id))
	}
	if inputs.Missing(a.Project) {
		problems = append(problems, "project must be given")
	}
	if inputs.OptionalMap(a.KeyKeepers) != nil && !a.Key {
		problems = append(problems, "KeyKeepers are given without Key: set Key, or remove them")
	}
	bound := map[string]bool{}
	for _, who := range a.KubernetesAccounts {
		if inputs.Missing(who.WorkloadPool) || who.Namespace == "" || who.Name == "" {
			problems = append(problems, "a Kubernetes account needs a workload pool, a namespace and a name")
		}
		if bound[who.suffix()] {
			problems = append(problems, fmt.Sprintf("Kubernetes account %s/%s is given twice, or its binding has the name of another binding", who.Namespace, who.Name))
		}
		bound[who.suffix()] = true
	}
	problems = append(problems, CheckRoles(a.Roles, a.Overrides)...)
	for _, role := range a.Roles {
		if _, taken := a.CustomRoles[roleSuffix(role)]; taken {
			problems = append(problems, fmt.Sprintf("custom role key %s is the key of role %s: choose another key", roleSuffix(role), role))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s", strings.Join(problems, "; "))
	}
	return nil
}

// roleSuffix returns the part of a role's name that distinguishes the bindings of one account in URNs.
func roleSuffix(role string) string {
	return strings.NewReplacer("roles/", "", "/", "-", ".", "-").Replace(role)
}

// customRole returns the name if it is the full name of a custom role, and an error otherwise, so that no role bypasses
// CheckRoles.
func customRole(name string) (string, error) {
	if !wellFormed(name) || strings.HasPrefix(name, "roles/") {
		return "", fmt.Errorf("role %q is not a custom role: it must be of the form projects/<project>/roles/<name>", name)
	}
	return name, nil
}
