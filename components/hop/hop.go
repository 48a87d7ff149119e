// Package hop makes the way from the platform to one team: the namespace, the account under which the team's commits
// are applied, what that account may do, and the team's context.
//
//	kind, err := hop.NewPolicyKind(ctx, "policies", pulumi.Provider(cluster))
//	web, err := hop.New(ctx, "web", &hop.Args{
//		Namespace: "team-web", Account: "web", Roles: []string{"strata:team"},
//		Operator: hop.Operator{Namespace: "pulumi-kubernetes-operator", Account: "pulumi-operator", Role: "strata:operator-tenant"},
//		Source:   hop.Source{URL: "https://git.example.com/web.git", Branch: "main", Path: "./"},
//		Policy:   &hop.Policy{Types: []string{"gcp:sql/*", "kubernetes:core/v1:Secret"}, StackAccounts: []string{"web"}},
//		Context:  context,
//	}, pulumi.Provider(cluster), pulumi.DependsOn([]pulumi.Resource{flux, kind}))
//
// Everything that decides what the team may do is made here, under the identity of the caller. What the team's own
// repository holds is applied under the team's account and can change none of it.
package hop

import (
	"fmt"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/inputs"
	"github.com/strata-platform/strata/handoff"
)

// Type is the component's type token.
const Type = "strata:components:Hop"

// TeamLabel is the label of a team's namespace; its value is Args.Account.
const TeamLabel = "strata.dev/team"

// Label is the label of what a hop makes in the team's namespace; its value is Args.Account. It tells those Secrets and
// ConfigMaps from the team's own, so that admission can keep the team from changing them.
const Label = "strata.dev/hop"

// Args describe a hop.
type Args struct {
	// Namespace is the team's namespace, made by the hop. Required.
	Namespace string
	// Account is the team's account in Namespace, made by the hop; source and sync have the same name. Required; not
	// "default".
	Account string
	// Roles are the ClusterRoles that Account gets in Namespace. At least one is required.
	Roles []string
	// Accounts are more accounts in Namespace, each with its own rights and its own sync.
	Accounts []Account
	// Operator says who runs the team's Stacks. Required.
	Operator Operator
	// Source is the team's repository. Required.
	Source Source
	// Quota bounds what the namespace uses, in addition to DefaultQuota and instead of what that says, by the names that a
	// ResourceQuota has for resources.
	Quota map[string]string
	// PrivateRanges are addresses in private networks that the team's pods may reach besides each other, the cluster's name
	// service and public addresses: those of a private database or control plane, for example "10.8.0.0/24".
	PrivateRanges []string
	// Policy is what admission policies look up for the team. It needs the kind of NewPolicyKind; nil makes no such object.
	Policy *Policy
	// GoogleAccount is the e-mail of the Google service account that the accounts of Policy.StackAccounts act as without a
	// key, by Workload Identity, where that account lets them; empty means none.
	GoogleAccount string
	// Context is what the team gets. Its Passphrase must live as long as the state in its backend, which outlives the hop.
	Context handoff.Tenant
}

// Operator is the account that runs a team's Stacks, under the team's account.
type Operator struct {
	// Namespace and Account name the operator's account.
	Namespace, Account string
	// Role is the ClusterRole that it gets in the team's namespace.
	Role string
	// Workspaces says that it runs each Stack in a pod of the team's namespace, as upstream's operator does: then it may
	// reach those pods, they may reach it and source-controller, and the accounts of Policy.StackAccounts may ask the API
	// server who somebody is and what he may do, with which those pods check who calls them.
	Workspaces bool
}

// Account is one more account in a team's namespace.
type Account struct {
	// Name of the account, which its sync has, too. Required; neither Args.Account nor "default".
	Name string
	// Roles are the ClusterRoles that it gets in the namespace. At least one is required.
	Roles []string
	// Path is the folder of the team's repository that is applied under it; empty means none.
	Path string
}

// Source is a team's repository.
type Source struct {
	// URL is the repository's address. Required.
	URL string
	// Branch is what is applied of it. Required.
	Branch string
	// Path is the folder that is applied. Required.
	Path string
	// Interval is how often the repository is checked; empty means every minute.
	Interval string
	// Username and Password read a private repository; both empty where everybody may. They end in the team's
	// namespace, where the team can read them: never give credentials that may write to another repository.
	Username string
	Password handoff.Secret
	// Webhook makes a Receiver, at which the Git server says that something was pushed. Flux's notification-controller has
	// to be there.
	Webhook bool
}

// Hop is a team's way into the cluster.
type Hop struct {
	pulumi.ResourceState

	// Namespace is the name of the team's namespace, known once it exists.
	Namespace pulumi.StringOutput `pulumi:"namespace"`
	// Account is the name of the team's account, known once it has its rights.
	Account pulumi.StringOutput `pulumi:"account"`
}

// New makes a hop. The provider for the cluster comes by opts.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Hop, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("make hop %s: %w", name, err)
	}
	hop := &Hop{}
	inputs := pulumi.Map{
		"namespace": pulumi.String(args.Namespace), "account": pulumi.String(args.Account),
		"roles": pulumi.ToStringArray(args.Roles), "url": pulumi.String(args.Source.URL),
	}
	if err := ctx.RegisterComponentResourceV2(Type, name, inputs, hop, opts...); err != nil {
		return nil, fmt.Errorf("make hop %s: %w", name, err)
	}
	b := &builder{ctx: ctx, name: name, args: args, hop: hop}
	for _, step := range []func() error{b.namespace, b.limits, b.network, b.rights, b.context, b.policy, b.sync} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("make hop %s: %w", name, err)
		}
	}
	return hop, ctx.RegisterResourceOutputs(hop, pulumi.Map{"namespace": hop.Namespace, "account": hop.Account})
}

// builder carries what the steps of New share.
type builder struct {
	ctx  *pulumi.Context
	name string
	args *Args
	hop  *Hop
	// home is the team's namespace, with which everything in it goes.
	home pulumi.Resource
	// accounts are the further accounts, by name, known once they have their rights.
	accounts map[string]pulumi.StringOutput

	// allowed says what the team is allowed, where anything does.
	allowed []pulumi.Resource
	// beforeSync must be there for as long as anything that the team's sync applied is: the sync waits for it when it is
	// made, and is gone before it when all is deleted.
	beforeSync []pulumi.Resource
}

// child makes a resource a part of the hop.
func (b *builder) child(opts ...pulumi.ResourceOption) []pulumi.ResourceOption {
	return append(opts, pulumi.Parent(b.hop))
}

// inside makes an object in the team's namespace a part of the hop. When the hop goes, the namespace takes the object
// with it: deleting each by itself would take longer and end no other way.
func (b *builder) inside() []pulumi.ResourceOption {
	return b.child(pulumi.DeletedWith(b.home))
}

// metadata names an object in the team's namespace, and makes it wait for the namespace.
func (b *builder) metadata(name string) *metav1.ObjectMetaArgs {
	return &metav1.ObjectMetaArgs{Name: pulumi.String(name), Namespace: b.hop.Namespace, Labels: b.marks()}
}

// marks are the labels of what the hop makes in the team's namespace.
func (b *builder) marks() pulumi.StringMap {
	marks := labels()
	marks[Label] = pulumi.String(b.args.Account)
	return marks
}

func (b *builder) namespace() error {
	marks := labels()
	// WordPress and its like run as root inside their container, which "restricted" would refuse; "baseline" refuses
	// what reaches out of a container.
	marks["pod-security.kubernetes.io/enforce"] = pulumi.String("baseline")
	marks["pod-security.kubernetes.io/warn"] = pulumi.String("restricted")
	marks[TeamLabel] = pulumi.String(b.args.Account)
	namespace, err := corev1.NewNamespace(b.ctx, b.name+"-namespace", &corev1.NamespaceArgs{
		Metadata: &metav1.ObjectMetaArgs{Name: pulumi.String(b.args.Namespace), Labels: marks},
	}, b.child()...)
	if err != nil {
		return err
	}
	b.home, b.hop.Namespace = namespace, namespace.Metadata.Name().Elem()
	return nil
}

func labels() pulumi.StringMap {
	return pulumi.StringMap{
		"app.kubernetes.io/part-of":    pulumi.String("strata"),
		"app.kubernetes.io/managed-by": pulumi.String("pulumi"),
	}
}
