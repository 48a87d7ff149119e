// Package fluxcd puts Flux on a cluster and tells it what to apply.
//
//	flux, err := fluxcd.New(ctx, "flux", &fluxcd.Args{
//		GitURL: pulumi.String("https://git.example.com/fleet.git"), GitUsername: user, GitPassword: password,
//		Path: pulumi.String("clusters/dev"), Kubeconfig: kubeconfig,
//	}, pulumi.Provider(cluster))
//	source, err := fluxcd.NewSource(ctx, "web", &fluxcd.SourceArgs{
//		Namespace: pulumi.String("team-web"),
//		Origin:    fluxcd.Git{URL: pulumi.String("https://git.example.com/web.git")},
//	}, pulumi.Provider(cluster), pulumi.DependsOn([]pulumi.Resource{flux}))
//	sync, err := fluxcd.NewSync(ctx, "web", &fluxcd.SyncArgs{
//		Namespace: pulumi.String("team-web"), Source: source, ServiceAccount: pulumi.String("web"),
//	}, pulumi.Provider(cluster), pulumi.DependsOn([]pulumi.Resource{flux}))
//	receiver, err := fluxcd.NewReceiver(ctx, "web", &fluxcd.ReceiverArgs{
//		Namespace: pulumi.String("team-web"), Sources: []*fluxcd.Source{source},
//	}, pulumi.Provider(cluster), pulumi.DependsOn([]pulumi.Resource{flux}))
//
// The package example holds a whole program.
//
// Flux starts locked down for many tenants: no object may refer to another namespace's, no kustomization may fetch from
// elsewhere, and a sync that names no account runs as its namespace's default one, which has no rights. The root sync, which
// applies what New commits to the repository, is alone in running as cluster-admin; so whoever may push to that repository
// owns the cluster.
package fluxcd

import (
	"fmt"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumix"

	"github.com/strata-platform/strata/components/internal/inputs"
	"github.com/strata-platform/strata/sdks/flux"
)

const (
	// Type is the type token of Flux.
	Type = "strata:components:Flux"
	// Namespace is where Flux is installed.
	Namespace = "flux-system"
	// DefaultVersion is the release of Flux that is installed where Args names none.
	DefaultVersion = "v2.9.4"
	// DefaultWorkers is how many objects a controller works on at a time where Args says nothing else.
	DefaultWorkers = 20
	// DefaultBranch is the branch that is synchronised where none is named.
	DefaultBranch = "main"
)

// DefaultComponents returns the controllers that are installed where Args names none.
func DefaultComponents() []string {
	return []string{"source-controller", "kustomize-controller", "helm-controller", "notification-controller"}
}

// Args describe Flux on one cluster.
type Args struct {
	// GitURL is the repository that Flux keeps itself in. Required. Plain http is accepted to a loopback address only.
	GitURL pulumi.StringInput
	// GitUsername and GitPassword may push to the repository. They stay with the Flux provider. Required.
	GitUsername, GitPassword pulumi.StringInput
	// ReadUsername and ReadPassword are what the cluster reads the repository with, in a Secret of their own. By default they
	// are GitUsername and GitPassword; give ones that cannot push where the server has such.
	ReadUsername, ReadPassword pulumi.StringInput
	// Branch of the repository, DefaultBranch by default.
	Branch pulumi.StringInput
	// Path in the repository, by default its root.
	Path pulumi.StringInput
	// Version of Flux, DefaultVersion by default.
	Version pulumi.StringInput
	// Components are the controllers to install, DefaultComponents by default. source-controller and kustomize-controller
	// are required.
	Components pulumi.StringArrayInput
	// Interval at which the repository is checked, for example "1m". Without it Flux checks every minute.
	Interval pulumi.StringInput
	// Kubeconfig is how the Flux provider reaches the cluster. Required unless Provider is given.
	Kubeconfig pulumi.StringInput
	// PrivateRanges are ranges of private addresses that Flux's pods may reach: source-controller at the ports of Git servers,
	// every controller at port 443 for the control plane. Only controllers that fetch or notify reach public addresses.
	PrivateRanges []string
	// SourcePorts are ports of Git servers in PrivateRanges, besides 22, 80 and 443.
	SourcePorts []int
	// Workers is how many objects each controller works on at a time, DefaultWorkers when zero. A sync that waits for the
	// objects it applied occupies a worker: give more workers than there are syncs.
	Workers int
	// Provider is a Flux provider to use instead of one made of the Git and Kubeconfig fields. With it, the Git fields still
	// say what the cluster reads with.
	Provider *flux.Provider
}

// Flux is Flux on one cluster.
type Flux struct {
	pulumi.ResourceState

	// Namespace that Flux runs in, known once it runs.
	Namespace pulumi.StringOutput `pulumi:"namespace"`
	// Version of Flux that runs.
	Version pulumi.StringOutput `pulumi:"version"`
}

// New installs Flux. The provider for the cluster comes by opts.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Flux, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("install Flux %s: %w", name, err)
	}
	f := &Flux{}
	inputs := pulumi.Map{
		"gitUrl": args.GitURL, "branch": args.branch(), "version": args.version(), "components": args.components(),
	}
	if args.Path != nil {
		inputs["path"] = args.Path
	}
	if err := ctx.RegisterComponentResourceV2(Type, name, inputs, f, opts...); err != nil {
		return nil, fmt.Errorf("install Flux %s: %w", name, err)
	}
	before, err := args.before(ctx, name, f)
	if err != nil {
		return nil, fmt.Errorf("install Flux %s: %w", name, err)
	}
	provider := args.Provider
	if provider == nil {
		if provider, err = args.provider(ctx, name, f); err != nil {
			return nil, fmt.Errorf("install Flux %s: %w", name, err)
		}
	}
	bootstrap, err := flux.NewFluxBootstrapGit(ctx, name+"-bootstrap", &flux.FluxBootstrapGitArgs{
		Namespace:             pulumi.String(Namespace),
		SecretName:            pulumi.String(Namespace),
		DisableSecretCreation: pulumi.Bool(true),
		KustomizationOverride: pulumi.String(lockdown(args.workers())),
		Components:            args.components(),
		Version:               ptr(args.version()),
		Path:                  ptr(args.Path),
		Interval:              ptr(args.Interval),
	}, pulumi.Parent(f), pulumi.Provider(provider), pulumi.DependsOn(before))
	if err != nil {
		return nil, fmt.Errorf("install Flux %s: %w", name, err)
	}
	f.Namespace, f.Version = bootstrap.Namespace, bootstrap.Version
	return f, ctx.RegisterResourceOutputs(f, pulumi.Map{"namespace": f.Namespace, "version": f.Version})
}

// before makes what Flux needs first: its namespace, its NetworkPolicies, and the Secret by which the cluster reads the
// repository. The Secret is a resource of its own, so that a new password is an update in place.
func (a *Args) before(ctx *pulumi.Context, name string, parent pulumi.Resource) ([]pulumi.Resource, error) {
	namespace, err := corev1.NewNamespace(ctx, name+"-namespace", &corev1.NamespaceArgs{
		Metadata: &metav1.ObjectMetaArgs{Name: pulumi.String(Namespace)},
	}, pulumi.Parent(parent))
	if err != nil {
		return nil, err
	}
	inside := namespace.Metadata.Name().Elem()
	walls, err := a.walls(ctx, name, inside, parent)
	if err != nil {
		return nil, err
	}
	username, password := a.ReadUsername, a.ReadPassword
	if username == nil {
		username, password = a.GitUsername, a.GitPassword
	}
	secret, err := newSecret(ctx, name+"-credentials", metadata(inside, pulumi.String(Namespace)), opaque,
		map[string]pulumi.StringInput{"username": username, "password": password}, pulumi.Parent(parent))
	return append(walls, secret), err
}

func (a *Args) provider(ctx *pulumi.Context, name string, parent pulumi.Resource) (*flux.Provider, error) {
	kubeconfig := pulumi.ToSecret(a.Kubeconfig.ToStringOutput()).(pulumi.StringOutput)
	return flux.NewProvider(ctx, name+"-provider", &flux.ProviderArgs{
		Kubernetes: pulumix.ApplyErr(kubeconfig, parseKubeconfig),
		Git: &flux.ProviderGitArgs{
			Url:    a.GitURL,
			Branch: ptr(a.branch()),
			Http: &flux.ProviderGitHttpArgs{
				Username:          ptr(a.GitUsername),
				Password:          ptr(secret(a.GitPassword)),
				AllowInsecureHttp: a.GitURL.ToStringOutput().ApplyT(isLoopback).(pulumi.BoolOutput).ToBoolPtrOutput(),
			},
		},
	}, pulumi.Parent(parent))
}

func (a *Args) check() error {
	var p problems
	p.refuse(a.GitURL == nil, "GitURL must be given")
	p.refuse(a.GitUsername == nil || a.GitPassword == nil, "GitUsername and GitPassword must be given")
	p = append(p, together("ReadUsername and ReadPassword", a.ReadUsername, a.ReadPassword)...)
	p.refuse(a.Workers < 0, "Workers must not be negative")
	p.refuse((a.Kubeconfig == nil) == (a.Provider == nil), "one of Kubeconfig and Provider must be given")
	return p.err()
}

func (a *Args) branch() pulumi.StringInput { return or(a.Branch, DefaultBranch) }

func (a *Args) version() pulumi.StringInput { return or(a.Version, DefaultVersion) }

func (a *Args) workers() int {
	if a.Workers == 0 {
		return DefaultWorkers
	}
	return a.Workers
}

func (a *Args) components() pulumi.StringArrayInput {
	if a.Components == nil {
		return pulumi.ToStringArray(DefaultComponents())
	}
	return a.Components
}

func or(input pulumi.StringInput, fallback string) pulumi.StringInput {
	if input == nil {
		return pulumi.String(fallback)
	}
	return input
}

// ptr turns an optional input into what a resource takes.
func ptr(input pulumi.StringInput) pulumi.StringPtrInput {
	if input == nil {
		return nil
	}
	return input.ToStringOutput().ToStringPtrOutput()
}

func secret(input pulumi.StringInput) pulumi.StringOutput {
	return pulumi.ToSecret(input.ToStringOutput()).(pulumi.StringOutput)
}
