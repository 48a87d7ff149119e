// Package hop creates a team's namespace in the cluster, the account that Flux applies the team's commits under, the
// permissions of that account, and the team's context.
//
//	kind, err := hop.NewPolicyKind(ctx, "policies", pulumi.Provider(cluster))
//	web, err := hop.NewHop(ctx, "web", &hop.HopArgs{
//		Namespace: "team-web", Account: "web", Roles: []string{"strata:team"},
//		Operator: hop.Operator{
//			Namespace: pulumi.String("pulumi-kubernetes-operator"), Account: pulumi.String("pulumi-operator"), Role: "strata:operator-tenant",
//		},
//		Source: hop.Source{
//			URL: pulumi.String("https://git.example.com/web.git"), Branch: pulumi.String("main"), Path: pulumi.String("./"),
//		},
//		Policy:   &hop.Policy{Types: []string{"gcp:sql/*", "kubernetes:core/v1:Secret"}, StackAccounts: []string{"web"}},
//		Context:  context,
//	}, pulumi.Provider(cluster), pulumi.DependsOn(append(flux.Resources(), kind)))
//
// The caller's identity creates every object that decides what the team may do. Flux applies the team's repository under
// the team's account, which can change none of these objects.
package hop

import (
	"fmt"
	"net/netip"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/component"
	"github.com/strata-platform/strata/components/internal/inputs"
	"github.com/strata-platform/strata/handoff"
)

// Type is the component's type token.
const Type = "strata:index:Hop"

// TeamLabel is the label of a team's namespace; its value is HopArgs.Account.
const TeamLabel = "strata.dev/team"

// Label is the label of the objects that a hop creates in the team's namespace; its value is HopArgs.Account. It
// distinguishes the hop's Secrets and ConfigMaps from the team's own, so that admission policies can keep the team from
// changing them.
const Label = "strata.dev/hop"

// PlanAccount is the account in the team's namespace that previews of commits run as before somebody has reviewed them. No Stack and no
// sync may name it, and no other account of a hop may have its name.
const PlanAccount = "strata-plan"

// HopArgs describes a hop. The names of the namespace, the accounts and the roles are plain values: NewHop creates objects
// for them, and refuses a name that would widen the team's permissions before it creates any object.
//
//nolint:revive // Pulumi users expect the arguments of NewHop under this name
type HopArgs struct {
	// Namespace is the team's namespace. NewHop creates it. Required.
	Namespace string
	// Account is the team's account in Namespace. NewHop creates it, and gives the source and the sync the same name.
	// Required; not "default".
	Account string
	// Roles are the ClusterRoles of Account in Namespace. At least one is required.
	Roles []string
	// Accounts are additional accounts in Namespace. Each has its own permissions and its own sync.
	Accounts []Account
	// Operator is the operator that runs the team's Stacks. Required.
	Operator Operator
	// PlanRole is the ClusterRole, in Namespace, of the account PlanAccount, which NewHop creates for it; not cluster-admin.
	// Empty means no such account.
	PlanRole string
	// Approvers are those who may approve what the team's Stacks wait for, besides the administrators of the cluster.
	Approvers Approvers
	// Source is the team's repository. Required.
	Source Source
	// Quota limits the resources of the namespace, by the resource names of a ResourceQuota. Its values override those of
	// DefaultQuota.
	Quota pulumi.StringMap
	// PrivateRanges are private address ranges that the team's pods may connect to, for example "10.8.0.0/24" for a
	// private database. The pods may always connect to each other, to the cluster's DNS and to public addresses.
	PrivateRanges pulumi.StringArray
	// ControlPlane are the addresses of the control plane. The team's pods may connect to port 443 there. None means that they
	// reach the API server only at a public address or in PrivateRanges.
	ControlPlane []netip.Addr
	// Policy holds the data that admission policies look up for the team. It needs the kind of NewPolicyKind. Nil means
	// that NewHop creates no TenantPolicy.
	Policy *Policy
	// Notify puts the results of the team's plans on the commits. It needs Policy, and Flux's notification-controller. Nil means that
	// nothing does.
	Notify *Notify
	// GoogleAccount is the e-mail address of the Google service account that the accounts in Policy.StackAccounts
	// impersonate by Workload Identity, without a key. That Google account must allow the impersonation. Nil means none.
	GoogleAccount pulumi.StringInput
	// GoogleAudience lets Stacks of the embedded operator act as GoogleAccount (package handoff/keyless); nil or empty means none.
	GoogleAudience pulumi.StringInput
	// Context is the context that the team's Stacks read. Its Passphrase must live as long as the state in its backend,
	// which outlives the hop.
	Context handoff.Tenant
}

// Operator is the account of the operator that runs a team's Stacks. The runs themselves use the team's account.
type Operator struct {
	// Namespace and Account identify the operator's account. Both are required.
	Namespace, Account pulumi.StringInput
	// Role is the operator's ClusterRole in the team's namespace. Required; not cluster-admin.
	Role string
	// Workspaces says that the operator runs each Stack in a pod of the team's namespace, as upstream's operator does.
	// Then the operator and these pods may connect to each other, and these pods may connect to source-controller. The
	// pods authenticate and authorize their callers by the API server, so the accounts in Policy.StackAccounts may create
	// token reviews and access reviews.
	Workspaces bool
}

// Approvers are those who have a role in the team's namespace, to approve what the team's Stacks wait for.
type Approvers struct {
	// Role is their ClusterRole; not cluster-admin. Required if there are any approvers.
	Role string
	// Users and Groups are the names by which the API server knows them.
	Users, Groups []string
	// Accounts says that the accounts of HopArgs may approve, too. Then whoever writes the team's repository can.
	Accounts bool
}

// Account is an additional account in a team's namespace.
type Account struct {
	// Name is the name of the account and of its sync. Required; neither HopArgs.Account nor "default".
	Name string
	// Roles are the ClusterRoles of the account in the namespace. At least one is required.
	Roles []string
	// Path is the folder of the team's repository that Flux applies under the account; empty means none.
	Path string
}

// Hop is a team's access to the cluster.
type Hop struct {
	pulumi.ResourceState

	// Namespace is the name of the team's namespace, known once it exists.
	Namespace pulumi.StringOutput `pulumi:"namespace"`
	// Account is the name of the team's account, known once its role bindings exist.
	Account pulumi.StringOutput `pulumi:"account"`
}

// NewHop creates a hop. Pass the provider for the cluster in opts.
func NewHop(ctx *pulumi.Context, name string, args *HopArgs, opts ...pulumi.ResourceOption) (*Hop, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("create hop %s: %w", name, err)
	}
	hop := &Hop{}
	properties := pulumi.Map{
		"namespace": pulumi.String(args.Namespace), "account": pulumi.String(args.Account),
		"roles": pulumi.ToStringArray(args.Roles), "url": args.Source.URL,
	}
	if err := component.Register(ctx, Type, name, properties, hop, opts...); err != nil {
		return nil, fmt.Errorf("create hop %s: %w", name, err)
	}
	b := &builder{ctx: ctx, name: name, args: args, hop: hop}
	for _, step := range []func() error{b.namespace, b.limits, b.network, b.rights, b.context, b.policy, b.notify, b.sync} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("create hop %s: %w", name, err)
		}
	}
	return hop, ctx.RegisterResourceOutputs(hop, pulumi.Map{"namespace": hop.Namespace, "account": hop.Account})
}

// builder carries the state that the steps of NewHop share.
type builder struct {
	ctx  *pulumi.Context
	name string
	args *HopArgs
	hop  *Hop
	// namespaceResource is the team's namespace. Its deletion deletes every object in it.
	namespaceResource pulumi.Resource
	// accounts are the additional accounts by name, known once their role bindings exist.
	accounts map[string]pulumi.StringOutput

	// allowed holds the team's TenantPolicy, or nothing without HopArgs.Policy.
	allowed []pulumi.Resource
	// beforeSync must exist as long as any object that the team's sync applied. The sync depends on these resources, so
	// Pulumi creates it after them and deletes it before them.
	beforeSync []pulumi.Resource
}

// child returns options that make a resource a child of the hop.
func (b *builder) child(opts ...pulumi.ResourceOption) []pulumi.ResourceOption {
	return append(opts, pulumi.Parent(b.hop))
}

// inside returns options for an object in the team's namespace. The deletion of the namespace deletes the object.
// Deleting each object by itself would take longer and have the same result.
func (b *builder) inside() []pulumi.ResourceOption {
	return b.child(pulumi.DeletedWith(b.namespaceResource))
}

// metadata returns the metadata of an object in the team's namespace. The object depends on the namespace.
func (b *builder) metadata(name string) *metav1.ObjectMetaArgs {
	return &metav1.ObjectMetaArgs{Name: pulumi.String(name), Namespace: b.hop.Namespace, Labels: b.objectLabels()}
}

// objectLabels returns the labels of the objects that the hop creates in the team's namespace.
func (b *builder) objectLabels() pulumi.StringMap {
	marks := component.Labels()
	marks[Label] = pulumi.String(b.args.Account)
	return marks
}

func (b *builder) namespace() error {
	marks := component.Labels()
	// Images such as WordPress run as root inside their container, which "restricted" would refuse. "baseline" refuses
	// known privilege escalations out of a container.
	marks["pod-security.kubernetes.io/enforce"] = pulumi.String("baseline")
	marks["pod-security.kubernetes.io/warn"] = pulumi.String("restricted")
	marks[TeamLabel] = pulumi.String(b.args.Account)
	namespace, err := corev1.NewNamespace(b.ctx, b.name+"-namespace", &corev1.NamespaceArgs{
		Metadata: &metav1.ObjectMetaArgs{Name: pulumi.String(b.args.Namespace), Labels: marks},
	}, b.child()...)
	if err != nil {
		return err
	}
	b.namespaceResource, b.hop.Namespace = namespace, namespace.Metadata.Name().Elem()
	return nil
}
