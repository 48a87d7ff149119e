// Package fluxcd installs Flux on a cluster and tells it which sources to apply.
//
//	flux, err := fluxcd.NewFlux(ctx, "flux", &fluxcd.FluxArgs{
//		GitURL: pulumi.String("https://git.example.com/fleet.git"), GitUsername: user, GitPassword: password,
//		Path: pulumi.String("clusters/dev"), Kubeconfig: kubeconfig,
//	}, pulumi.Provider(cluster))
//	source, err := fluxcd.NewSource(ctx, "web", &fluxcd.SourceArgs{
//		Namespace: pulumi.String("team-web"),
//		Origin:    fluxcd.Git{URL: pulumi.String("https://git.example.com/web.git")},
//	}, pulumi.Provider(cluster), pulumi.DependsOn(flux.Resources()))
//	sync, err := fluxcd.NewSync(ctx, "web", &fluxcd.SyncArgs{
//		Namespace: pulumi.String("team-web"), Source: source, ServiceAccount: pulumi.String("web"),
//	}, pulumi.Provider(cluster), pulumi.DependsOn(flux.Resources()))
//	receiver, err := fluxcd.NewReceiver(ctx, "web", &fluxcd.ReceiverArgs{
//		Namespace: pulumi.String("team-web"), Sources: []*fluxcd.Source{source},
//	}, pulumi.Provider(cluster), pulumi.DependsOn(flux.Resources()))
//
// Package example contains a complete program.
//
// NewFlux configures Flux for multiple tenants. No object may refer to an object of another namespace. No kustomization
// may fetch a remote base. A sync that names no account runs as the default account of its namespace, which has no
// permissions. Only the root sync, which applies the commits of NewFlux, runs as cluster-admin. So a user who may push
// to that repository controls the cluster.
package fluxcd

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	networkingv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/networking/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd/internal/hardening"
	"github.com/strata-platform/strata/components/fluxcd/internal/kubeconfig"
	"github.com/strata-platform/strata/components/internal/component"
	"github.com/strata-platform/strata/components/internal/inputs"
	"github.com/strata-platform/strata/sdks/flux"
)

const (
	// Type is the type token of Flux.
	Type = "strata:index:Flux"
	// Namespace is the namespace of Flux.
	Namespace = "flux-system"
	// DefaultVersion is the release of Flux when FluxArgs.Version is nil.
	DefaultVersion = "v2.9.4"
	// DefaultWorkers is the number of objects that a controller reconciles concurrently when FluxArgs.Workers is zero.
	DefaultWorkers = 20
	// DefaultBranch is the branch to fetch when a field names none.
	DefaultBranch = "main"
)

// DefaultComponents returns the controllers to install when FluxArgs.Components is nil.
func DefaultComponents() []string {
	return []string{"source-controller", "kustomize-controller", "helm-controller", "notification-controller"}
}

// FluxArgs describes Flux on one cluster. SourcePorts and Workers are plain values, because NewFlux renders them into
// NetworkPolicies and patches.
type FluxArgs struct {
	// GitURL is the repository that Flux keeps its own manifests in. Required. Plain HTTP is allowed for a loopback
	// address only.
	GitURL pulumi.StringInput
	// GitUsername and GitPassword may push to the repository. Only the Flux provider uses them. Required.
	GitUsername, GitPassword pulumi.StringInput
	// ReadUsername and ReadPassword are the cluster's credentials for reading the repository, in a Secret of their own.
	// They default to GitUsername and GitPassword. Give credentials that cannot push if the Git server offers them.
	ReadUsername, ReadPassword pulumi.StringInput
	// Branch is the branch of the repository; nil means DefaultBranch.
	Branch pulumi.StringInput
	// Path is the folder in the repository; nil means the root.
	Path pulumi.StringInput
	// Version is the version of Flux; nil means DefaultVersion.
	Version pulumi.StringInput
	// Components are the controllers to install; nil means DefaultComponents. source-controller and kustomize-controller
	// are required.
	Components pulumi.StringArrayInput
	// Interval is the polling interval of the repository, for example "1m"; nil means every minute.
	Interval pulumi.StringInput
	// Kubeconfig connects the Flux provider to the cluster. Required unless Provider is given.
	Kubeconfig pulumi.StringInput
	// PrivateRanges are the private address ranges that Flux's pods may connect to. source-controller may connect to the
	// ports of Git servers there. Every controller may connect to port 443 there, for a control plane that ControlPlane omits.
	// Only controllers that fetch or notify may connect to public addresses.
	PrivateRanges pulumi.StringArray
	// ControlPlane are the addresses of the control plane, in addition to the one in Kubeconfig. Every controller may connect to
	// port 443 there.
	ControlPlane []netip.Addr
	// SourcePorts are ports of Git servers in PrivateRanges, in addition to 22, 80 and 443.
	SourcePorts []int
	// Workers is the number of objects that each controller reconciles concurrently; zero means DefaultWorkers. A sync
	// occupies a worker while it waits for its objects, so set more workers than there are syncs.
	Workers int
	// Provider is a Flux provider to use instead of one that NewFlux creates from the Git and Kubeconfig fields. The Git
	// fields still hold the cluster's read credentials.
	Provider *flux.Provider
}

// Flux is Flux on one cluster.
type Flux struct {
	pulumi.ResourceState

	// Namespace is the namespace of Flux, known once Flux runs.
	Namespace pulumi.StringOutput `pulumi:"namespace"`
	// Version is the version of Flux that runs.
	Version pulumi.StringOutput `pulumi:"version"`

	bootstrap *flux.BootstrapGit
}

// Resources returns the resource that installs Flux, for pulumi.DependsOn. A dependency on the component itself is not
// reliable in Go: it covers the children that Pulumi knows at that moment, and Pulumi learns of children in the background
// (pulumi/pulumi#7833).
func (f *Flux) Resources() []pulumi.Resource { return []pulumi.Resource{f.bootstrap} }

// NewFlux installs Flux. Pass the provider for the cluster in opts.
func NewFlux(ctx *pulumi.Context, name string, args *FluxArgs, opts ...pulumi.ResourceOption) (*Flux, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("install Flux %s: %w", name, err)
	}
	f := &Flux{}
	properties := pulumi.Map{
		"gitUrl": args.GitURL, "branch": args.branch(), "version": args.version(), "components": args.components(),
	}
	if !inputs.Missing(args.Path) {
		properties["path"] = args.Path
	}
	if err := component.Register(ctx, Type, name, properties, f, opts...); err != nil {
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
	bootstrap, err := flux.NewBootstrapGit(ctx, name+"-bootstrap", &flux.BootstrapGitArgs{
		Namespace:             pulumi.String(Namespace),
		SecretName:            pulumi.String(Namespace),
		DisableSecretCreation: pulumi.Bool(true),
		KustomizationOverride: pulumi.String(hardening.Kustomization(Namespace, args.workers())),
		Components:            args.components(),
		Version:               inputs.Optional(args.version()),
		Path:                  inputs.Optional(args.Path),
		Interval:              inputs.Optional(args.Interval),
	}, pulumi.Parent(f), pulumi.Provider(provider), pulumi.DependsOn(before))
	if err != nil {
		return nil, fmt.Errorf("install Flux %s: %w", name, err)
	}
	f.Namespace, f.Version, f.bootstrap = bootstrap.Namespace, bootstrap.Version, bootstrap
	return f, ctx.RegisterResourceOutputs(f, pulumi.Map{"namespace": f.Namespace, "version": f.Version})
}

// before creates the resources that Flux needs first: its namespace, its NetworkPolicies, and the Secret with the
// cluster's credentials for the repository. The Secret is a resource of its own so that a new password updates it in
// place.
func (a *FluxArgs) before(ctx *pulumi.Context, name string, parent pulumi.Resource) ([]pulumi.Resource, error) {
	namespace, err := corev1.NewNamespace(ctx, name+"-namespace", &corev1.NamespaceArgs{
		Metadata: &metav1.ObjectMetaArgs{Name: pulumi.String(Namespace)},
	}, pulumi.Parent(parent))
	if err != nil {
		return nil, err
	}
	inside := namespace.Metadata.Name().Elem()
	var before []pulumi.Resource
	outside := hardening.Network{Kubeconfig: a.Kubeconfig, PrivateRanges: a.PrivateRanges, ControlPlane: a.ControlPlane, SourcePorts: a.SourcePorts}
	for _, each := range outside.Policies() {
		policy, err := networkingv1.NewNetworkPolicy(ctx, name+"-"+each.Name, &networkingv1.NetworkPolicyArgs{
			Metadata: metadata(inside, pulumi.String(each.Name)), Spec: each.Spec,
		}, pulumi.Parent(parent))
		if err != nil {
			return nil, err
		}
		before = append(before, policy)
	}
	username, password := a.ReadUsername, a.ReadPassword
	if inputs.Missing(username) {
		username, password = a.GitUsername, a.GitPassword
	}
	secret, err := newSecret(ctx, name+"-credentials", metadata(inside, pulumi.String(Namespace)), opaque,
		map[string]pulumi.StringInput{"username": username, "password": password}, pulumi.Parent(parent))
	return append(before, secret), err
}

func (a *FluxArgs) provider(ctx *pulumi.Context, name string, parent pulumi.Resource) (*flux.Provider, error) {
	return flux.NewProvider(ctx, name+"-provider", &flux.ProviderArgs{
		Kubernetes: secret(a.Kubeconfig).ApplyT(kubeconfig.Parse).(flux.ProviderKubernetesOutput).ToProviderKubernetesPtrOutput(),
		Git: &flux.ProviderGitArgs{
			Url:    a.GitURL,
			Branch: inputs.Optional(a.branch()),
			Http: &flux.ProviderGitHttpArgs{
				Username:          inputs.Optional(a.GitUsername),
				Password:          inputs.Optional(secret(a.GitPassword)),
				AllowInsecureHttp: a.GitURL.ToStringOutput().ApplyT(isLoopback).(pulumi.BoolOutput).ToBoolPtrOutput(),
			},
		},
	}, pulumi.Parent(parent))
}

func (a *FluxArgs) check() error {
	var p problems
	p.refuse(inputs.Missing(a.GitURL), "GitURL must be given")
	p.refuse(inputs.Missing(a.GitUsername) || inputs.Missing(a.GitPassword), "GitUsername and GitPassword must be given")
	p = append(p, together("ReadUsername and ReadPassword", a.ReadUsername, a.ReadPassword)...)
	p.refuse(a.Workers < 0, "Workers must not be negative")
	p.refuse(slices.ContainsFunc(a.PrivateRanges, inputs.Missing), "a range in PrivateRanges is empty")
	p.refuse(inputs.Missing(a.Kubeconfig) == (a.Provider == nil), "one of Kubeconfig and Provider must be given")
	return p.err()
}

func (a *FluxArgs) branch() pulumi.StringInput {
	return inputs.Or(a.Branch, pulumi.String(DefaultBranch))
}

func (a *FluxArgs) version() pulumi.StringInput {
	return inputs.Or(a.Version, pulumi.String(DefaultVersion))
}

func (a *FluxArgs) workers() int {
	if a.Workers == 0 {
		return DefaultWorkers
	}
	return a.Workers
}

func (a *FluxArgs) components() pulumi.StringArrayInput {
	if a.Components == nil {
		return pulumi.ToStringArray(DefaultComponents())
	}
	return a.Components
}

// secret returns the input, marked as a secret.
func secret(input pulumi.StringInput) pulumi.StringOutput {
	return pulumi.ToSecret(input.ToStringOutput()).(pulumi.StringOutput)
}
