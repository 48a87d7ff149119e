// Package hop makes the way from the platform to one team: the namespace, the account under which the team's commits
// are applied, what that account may do, and the team's context.
//
//	web, err := hop.New(ctx, "web", &hop.Args{
//		Namespace: "team-web", Account: "web", TeamRole: "strata:team",
//		Operator: hop.Operator{Namespace: "pulumi-kubernetes-operator", Account: "pulumi-operator", Role: "strata:operator-tenant"},
//		Source:   hop.Source{URL: "https://git.example.com/web.git", Branch: "main", Path: "./"},
//		Context:  context,
//	}, pulumi.Provider(cluster), pulumi.DependsOn([]pulumi.Resource{flux}))
//
// Everything that decides what the team may do is made here, under the identity of the caller. What the team's own
// repository holds is applied under the team's account and can change none of it.
package hop

import (
	"errors"
	"fmt"
	"strings"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi-random/sdk/v4/go/random"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/handoff"
)

// Type is the component's type token.
const Type = "strata:components:Hop"

// passphraseLength gives more entropy than the key that is derived from the passphrase.
const passphraseLength = 48

// Args describe a hop.
type Args struct {
	// Namespace is the team's namespace, made by the hop. Required.
	Namespace string
	// Account is the team's account in Namespace, made by the hop; source and sync have the same name. Required; not
	// "default".
	Account string
	// TeamRole is the ClusterRole that Account gets in Namespace. Required.
	TeamRole string
	// Operator says who runs the team's Stacks. Required.
	Operator Operator
	// Source is the team's repository. Required.
	Source Source
	// Context is what the team gets. Its Passphrase must be nil: the hop makes one that nobody else knows.
	Context handoff.Tenant
}

// Operator is the account that runs a team's Stacks, under the team's account.
type Operator struct {
	// Namespace and Account name the operator's account.
	Namespace, Account string
	// Role is the ClusterRole that it gets in the team's namespace.
	Role string
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
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("make hop %s: %w", name, err)
	}
	hop := &Hop{}
	inputs := pulumi.Map{
		"namespace": pulumi.String(args.Namespace), "account": pulumi.String(args.Account),
		"teamRole": pulumi.String(args.TeamRole), "url": pulumi.String(args.Source.URL),
	}
	if err := ctx.RegisterComponentResourceV2(Type, name, inputs, hop, opts...); err != nil {
		return nil, fmt.Errorf("make hop %s: %w", name, err)
	}
	b := &builder{ctx: ctx, name: name, args: args, hop: hop}
	for _, step := range []func() error{b.namespace, b.limits, b.account, b.context, b.sync} {
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
	return &metav1.ObjectMetaArgs{Name: pulumi.String(name), Namespace: b.hop.Namespace, Labels: labels()}
}

func (b *builder) namespace() error {
	marks := labels()
	// WordPress and its like run as root inside their container, which "restricted" would refuse; "baseline" refuses
	// what reaches out of a container.
	marks["pod-security.kubernetes.io/enforce"] = pulumi.String("baseline")
	marks["pod-security.kubernetes.io/warn"] = pulumi.String("restricted")
	namespace, err := corev1.NewNamespace(b.ctx, b.name+"-namespace", &corev1.NamespaceArgs{
		Metadata: &metav1.ObjectMetaArgs{Name: pulumi.String(b.args.Namespace), Labels: marks},
	}, b.child()...)
	if err != nil {
		return err
	}
	b.home, b.hop.Namespace = namespace, namespace.Metadata.Name().Elem()
	return nil
}

func (b *builder) context() error {
	passphrase, err := random.NewRandomPassword(b.ctx, b.name+"-passphrase", &random.RandomPasswordArgs{
		Length:  pulumi.Int(passphraseLength),
		Special: pulumi.Bool(false),
	}, b.child()...)
	if err != nil {
		return err
	}
	content := b.args.Context
	content.Passphrase = passphrase.Result
	secret, err := corev1.NewSecret(b.ctx, b.name+"-context", &corev1.SecretArgs{
		Metadata:   b.metadata(handoff.TenantName),
		StringData: content.SecretData(),
	}, b.inside()...)
	if err != nil {
		return err
	}
	config, err := corev1.NewConfigMap(b.ctx, b.name+"-config", &corev1.ConfigMapArgs{
		Metadata: b.metadata(handoff.TenantName),
		Data:     content.ConfigData(),
	}, b.inside()...)
	b.beforeSync = append(b.beforeSync, secret, config)
	return err
}

func labels() pulumi.StringMap {
	return pulumi.StringMap{
		"app.kubernetes.io/part-of":    pulumi.String("strata"),
		"app.kubernetes.io/managed-by": pulumi.String("pulumi"),
	}
}

func (a *Args) check() error {
	var problems []string
	for _, field := range []struct{ name, value string }{
		{"namespace", a.Namespace}, {"account", a.Account}, {"team role", a.TeamRole},
		{"operator's namespace", a.Operator.Namespace}, {"operator's account", a.Operator.Account}, {"operator's role", a.Operator.Role},
		{"source's URL", a.Source.URL}, {"source's branch", a.Source.Branch}, {"source's path", a.Source.Path},
	} {
		if field.value == "" {
			problems = append(problems, "the "+field.name+" must be given")
		}
	}
	if a.Account == "default" {
		problems = append(problems, `the account must not be "default": every pod that names no account would have the team's rights`)
	}
	if (a.Source.Username == "") != (a.Source.Password == "") {
		problems = append(problems, "the source's username and password must be given together")
	}
	for _, role := range []string{a.TeamRole, a.Operator.Role} {
		if role == "cluster-admin" {
			problems = append(problems, "role cluster-admin is refused: it lets its holder give itself any other right")
		}
	}
	problems = append(problems, contextProblems(a.Context)...)
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

func contextProblems(context handoff.Tenant) []string {
	var problems []string
	if context.Passphrase != nil {
		problems = append(problems, "the context's passphrase must not be given: the hop makes it")
	}
	for _, field := range []struct {
		name  string
		value pulumi.StringInput
	}{
		{"backend URL", context.BackendURL}, {"Google credentials", context.GoogleCredentials},
		{"project", context.Project}, {"region", context.Region}, {"instance", context.Instance},
	} {
		if field.value == nil {
			problems = append(problems, "the context's "+field.name+" must be given")
		}
	}
	return problems
}
