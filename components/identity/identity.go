// Package identity makes a scoped Google service account: exactly the roles asked for, the Kubernetes accounts that act as
// it, and a key only when asked.
//
//	account, err := identity.New(ctx, "team-web", &identity.Args{
//		AccountID: "team-web",
//		Project:   pulumi.String("acme-dev"),
//		Roles:     []string{"roles/cloudsql.client"},
//		KubernetesAccounts: []identity.KubernetesAccount{
//			{WorkloadPool: cluster.WorkloadPool, Namespace: "team-web", Name: "web"},
//		},
//	})
//
// Each role is a binding of its own, so that a role given by somebody else is neither seen nor removed. Roles that
// reach over the whole project, set IAM policy or act as another account are refused, unless the caller says in words
// why this one is needed.
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

	"github.com/strata-platform/strata/components/internal/inputs"
)

// Type is the component's type token.
const Type = "strata:components:Identity"

var accountID = regexp.MustCompile(`^[a-z][a-z0-9-]{4,28}[a-z0-9]$`)

// Args describe an identity.
type Args struct {
	// AccountID is the part of the account's e-mail before the @: 6 to 30 lower-case letters, digits and hyphens.
	// Required; another id is another account.
	AccountID string
	// DisplayName is shown in lists; empty means the account's id.
	DisplayName string
	// Project holds the account and grants the roles. Required.
	Project pulumi.StringInput
	// Roles are given on Project, one binding each; none is an account without rights.
	Roles []string
	// CustomRoles are custom roles that the program itself makes, also given on Project. The value is the role's full
	// name, as an IAMCustomRole outputs it; the key tells its binding apart in URNs. What such a role grants is the
	// program's to keep narrow: only that it is a custom role is checked.
	CustomRoles pulumi.StringMap
	// Overrides says, by role, in words why a role that is refused is needed here nevertheless.
	Overrides map[string]string
	// KubernetesAccounts act as the identity without a key, by Workload Identity, one binding each.
	KubernetesAccounts []KubernetesAccount
	// Key makes a key for workloads that have no other way to prove who they are. Prefer none.
	Key bool
	// KeyKeepers replace the key when one of them changes: the new key exists before the old one goes. Only with Key.
	KeyKeepers pulumi.StringMap
}

// KubernetesAccount is a service account in a cluster. Besides the binding that New makes, the account itself needs the
// annotation iam.gke.io/gcp-service-account with the identity's e-mail.
type KubernetesAccount struct {
	// WorkloadPool is the pool of the cluster's identities. Required; it must be known only once the pool exists, as
	// gke.Cluster's WorkloadPool is.
	WorkloadPool pulumi.StringInput
	// Namespace and Name name the account. Required.
	Namespace, Name string
}

// workloadRole lets a Kubernetes account act as a Google account, and as that one only.
const workloadRole = "roles/iam.workloadIdentityUser"

// Identity is a service account with its roles.
type Identity struct {
	pulumi.ResourceState

	// Email names the account.
	Email pulumi.StringOutput `pulumi:"email"`
	// Member is the account as the member of an IAM binding.
	Member pulumi.StringOutput `pulumi:"member"`
	// Credentials is the content of the key file, a secret; empty when no key was asked for.
	Credentials pulumi.StringOutput `pulumi:"credentials"`
}

// New makes the account, its bindings and, when asked, its key.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Identity, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("make identity %s: %w", name, err)
	}
	identity := &Identity{}
	inputs := pulumi.Map{
		"accountId": pulumi.String(args.AccountID), "project": args.Project,
		"roles": pulumi.ToStringArray(args.Roles), "key": pulumi.Bool(args.Key),
	}
	if err := ctx.RegisterComponentResourceV2(Type, name, inputs, identity, opts...); err != nil {
		return nil, fmt.Errorf("make identity %s: %w", name, err)
	}
	if err := identity.populate(ctx, name, args); err != nil {
		return nil, fmt.Errorf("make identity %s: %w", name, err)
	}
	return identity, ctx.RegisterResourceOutputs(identity, pulumi.Map{
		"email": identity.Email, "member": identity.Member, "credentials": identity.Credentials,
	})
}

func (i *Identity) populate(ctx *pulumi.Context, name string, args *Args) error {
	displayName := args.DisplayName
	if displayName == "" {
		displayName = args.AccountID
	}
	account, err := serviceaccount.NewAccount(ctx, name+"-account", &serviceaccount.AccountArgs{
		AccountId:   pulumi.String(args.AccountID),
		DisplayName: pulumi.String(displayName),
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

// suffix tells two bindings of one identity apart in URNs.
func (k KubernetesAccount) suffix() string { return k.Namespace + "-" + k.Name }

func (i *Identity) makeKey(ctx *pulumi.Context, name string, account *serviceaccount.Account, args *Args) error {
	i.Credentials = pulumi.ToSecret(pulumi.String("")).(pulumi.StringOutput)
	if !args.Key {
		return nil
	}
	key, err := serviceaccount.NewKey(ctx, name+"-key", &serviceaccount.KeyArgs{
		ServiceAccountId: account.Name,
		Keepers:          args.KeyKeepers,
		// A key is made to be replaced, which the engine refuses for what is protected.
	}, pulumi.Parent(i), pulumi.Protect(false), pulumi.AdditionalSecretOutputs([]string{"privateKey"}))
	if err != nil {
		return err
	}
	i.Credentials = pulumi.ToSecret(key.PrivateKey.ApplyT(decodeKey)).(pulumi.StringOutput)
	return nil
}

// decodeKey turns the API's encoding of a key file into the file. The value is never part of the error.
func decodeKey(encoded string) (string, error) {
	content, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", fmt.Errorf("the private key that Google returned is not base64")
	}
	return string(content), nil
}

func (a *Args) check() error {
	var problems []string
	if !accountID.MatchString(a.AccountID) {
		problems = append(problems, fmt.Sprintf("account id %q must be 6 to 30 lower-case letters, digits and hyphens that begin with a letter", a.AccountID))
	}
	if a.Project == nil {
		problems = append(problems, "no project is given")
	}
	if len(a.KeyKeepers) > 0 && !a.Key {
		problems = append(problems, "keepers are given for a key that is not asked for")
	}
	bound := map[string]bool{}
	for _, who := range a.KubernetesAccounts {
		if who.WorkloadPool == nil || who.Namespace == "" || who.Name == "" {
			problems = append(problems, "a Kubernetes account needs a workload pool, a namespace and a name")
		}
		if bound[who.suffix()] {
			problems = append(problems, fmt.Sprintf("Kubernetes account %s/%s is given twice, or looks like another one", who.Namespace, who.Name))
		}
		bound[who.suffix()] = true
	}
	problems = append(problems, CheckRoles(a.Roles, a.Overrides)...)
	for _, role := range a.Roles {
		if _, taken := a.CustomRoles[roleSuffix(role)]; taken {
			problems = append(problems, fmt.Sprintf("a custom role has the key %s, which is that of role %s", roleSuffix(role), role))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s", strings.Join(problems, "; "))
	}
	return nil
}

// roleSuffix is the part of a role's name that tells two bindings of one account apart in URNs.
func roleSuffix(role string) string {
	return strings.NewReplacer("roles/", "", "/", "-", ".", "-").Replace(role)
}

// customRole lets through nothing but the full name of a custom role, so that no role gets around CheckRoles.
func customRole(name string) (string, error) {
	if !wellFormed(name) || strings.HasPrefix(name, "roles/") {
		return "", fmt.Errorf("role %q is not a custom role: it must be of the form projects/<project>/roles/<name>", name)
	}
	return name, nil
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
