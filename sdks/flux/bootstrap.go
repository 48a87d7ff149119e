package flux

import (
	"reflect"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// FluxBootstrapGit installs Flux on a cluster from manifests in a Git repository, which Flux then applies to itself. Its
// creation commits the manifests, installs the controllers, and waits until they have applied the commit. Its deletion
// uninstalls Flux and removes the manifests.
//
//nolint:revive // the resource's published name
type FluxBootstrapGit struct {
	pulumi.CustomResourceState

	ClusterDomain         pulumi.StringOutput               `pulumi:"clusterDomain"`
	Components            pulumi.StringArrayOutput          `pulumi:"components"`
	ComponentsExtras      pulumi.StringArrayOutput          `pulumi:"componentsExtras"`
	DisableSecretCreation pulumi.BoolPtrOutput              `pulumi:"disableSecretCreation"`
	ImagePullSecret       pulumi.StringPtrOutput            `pulumi:"imagePullSecret"`
	Interval              pulumi.StringOutput               `pulumi:"interval"`
	KustomizationOverride pulumi.StringPtrOutput            `pulumi:"kustomizationOverride"`
	LogLevel              pulumi.StringOutput               `pulumi:"logLevel"`
	Namespace             pulumi.StringOutput               `pulumi:"namespace"`
	NetworkPolicy         pulumi.BoolOutput                 `pulumi:"networkPolicy"`
	Path                  pulumi.StringPtrOutput            `pulumi:"path"`
	RecurseSubmodules     pulumi.BoolPtrOutput              `pulumi:"recurseSubmodules"`
	Registry              pulumi.StringOutput               `pulumi:"registry"`
	SecretName            pulumi.StringOutput               `pulumi:"secretName"`
	Timeouts              FluxBootstrapGitTimeoutsPtrOutput `pulumi:"timeouts"`
	TolerationKeys        pulumi.StringArrayOutput          `pulumi:"tolerationKeys"`
	Version               pulumi.StringOutput               `pulumi:"version"`
	WatchAllNamespaces    pulumi.BoolOutput                 `pulumi:"watchAllNamespaces"`
	DeleteGitManifests    pulumi.BoolPtrOutput              `pulumi:"deleteGitManifests"`
	EmbeddedManifests     pulumi.BoolPtrOutput              `pulumi:"embeddedManifests"`
	KeepNamespace         pulumi.BoolPtrOutput              `pulumi:"keepNamespace"`

	// RepositoryFiles are the files that the provider wrote to the repository, by path.
	RepositoryFiles pulumi.StringMapOutput `pulumi:"repositoryFiles"`
}

// NewFluxBootstrapGit registers Flux under the given name. It needs a Provider, passed with pulumi.Provider.
func NewFluxBootstrapGit(ctx *pulumi.Context, name string, args *FluxBootstrapGitArgs, opts ...pulumi.ResourceOption) (*FluxBootstrapGit, error) {
	if args == nil {
		args = &FluxBootstrapGitArgs{}
	}
	r := &FluxBootstrapGit{}
	if err := ctx.RegisterResource(FluxBootstrapGitToken, name, args, r, withPlugin(opts)...); err != nil {
		return nil, err
	}
	return r, nil
}

// FluxBootstrapGitArgs are the inputs of FluxBootstrapGit.
//
//nolint:revive // the resource's published name
type FluxBootstrapGitArgs struct {
	// ClusterDomain is the cluster's internal domain, "cluster.local" by default.
	ClusterDomain pulumi.StringPtrInput
	// Components are the controllers to install; by default source-controller, kustomize-controller, helm-controller and
	// notification-controller. The first two are required.
	Components pulumi.StringArrayInput
	// ComponentsExtras are components that are not installed by default.
	ComponentsExtras pulumi.StringArrayInput
	// DisableSecretCreation makes Flux use an existing Secret named SecretName instead of one that the provider
	// creates from its credentials.
	DisableSecretCreation pulumi.BoolPtrInput
	// ImagePullSecret names a Secret with credentials for Registry.
	ImagePullSecret pulumi.StringPtrInput
	// Interval is the polling interval of the repository, "1m0s" by default.
	Interval pulumi.StringPtrInput
	// KustomizationOverride is the kustomization.yaml to commit beside the manifests, for patches. It must list
	// gotk-components.yaml and gotk-sync.yaml as resources.
	KustomizationOverride pulumi.StringPtrInput
	// LogLevel is info (the default), debug or error.
	LogLevel pulumi.StringPtrInput
	// Namespace is the namespace of Flux, "flux-system" by default. A change replaces the resource.
	Namespace pulumi.StringPtrInput
	// NetworkPolicy denies other namespaces access to the controllers, true by default.
	NetworkPolicy pulumi.BoolPtrInput
	// Path is the folder of the repository that Flux applies, by default its root. A change replaces the resource.
	Path pulumi.StringPtrInput
	// RecurseSubmodules fetches the repository's submodules too.
	RecurseSubmodules pulumi.BoolPtrInput
	// Registry is the registry of the images, "ghcr.io/fluxcd" by default.
	Registry pulumi.StringPtrInput
	// SecretName names the Secret with the repository's credentials, by default like Namespace. A change replaces the
	// resource.
	SecretName pulumi.StringPtrInput
	// Timeouts limit the operations.
	Timeouts *FluxBootstrapGitTimeoutsArgs
	// TolerationKeys are the keys of taints that the controllers' pods tolerate.
	TolerationKeys pulumi.StringArrayInput
	// Version is the version of Flux, "v" and a semantic version. Nil means the plugin's default.
	Version pulumi.StringPtrInput
	// WatchAllNamespaces makes the controllers watch every namespace, true by default.
	WatchAllNamespaces pulumi.BoolPtrInput

	// DeleteGitManifests removes the manifests from the repository when the resource is deleted, true by default. The
	// published plugin does not support it, and always removes them.
	DeleteGitManifests pulumi.BoolPtrInput
	// EmbeddedManifests uses the manifests in the plugin instead of a download. The published plugin does not support it.
	EmbeddedManifests pulumi.BoolPtrInput
	// KeepNamespace keeps the namespace when the resource is deleted, false by default. The published plugin does not
	// support it, and never keeps the namespace.
	KeepNamespace pulumi.BoolPtrInput
}

type fluxBootstrapGitArgs struct {
	ClusterDomain         *string                   `pulumi:"clusterDomain"`
	Components            []string                  `pulumi:"components"`
	ComponentsExtras      []string                  `pulumi:"componentsExtras"`
	DisableSecretCreation *bool                     `pulumi:"disableSecretCreation"`
	ImagePullSecret       *string                   `pulumi:"imagePullSecret"`
	Interval              *string                   `pulumi:"interval"`
	KustomizationOverride *string                   `pulumi:"kustomizationOverride"`
	LogLevel              *string                   `pulumi:"logLevel"`
	Namespace             *string                   `pulumi:"namespace"`
	NetworkPolicy         *bool                     `pulumi:"networkPolicy"`
	Path                  *string                   `pulumi:"path"`
	RecurseSubmodules     *bool                     `pulumi:"recurseSubmodules"`
	Registry              *string                   `pulumi:"registry"`
	SecretName            *string                   `pulumi:"secretName"`
	Timeouts              *FluxBootstrapGitTimeouts `pulumi:"timeouts"`
	TolerationKeys        []string                  `pulumi:"tolerationKeys"`
	Version               *string                   `pulumi:"version"`
	WatchAllNamespaces    *bool                     `pulumi:"watchAllNamespaces"`
	DeleteGitManifests    *bool                     `pulumi:"deleteGitManifests"`
	EmbeddedManifests     *bool                     `pulumi:"embeddedManifests"`
	KeepNamespace         *bool                     `pulumi:"keepNamespace"`
}

// ElementType implements pulumi.Input.
func (FluxBootstrapGitArgs) ElementType() reflect.Type {
	return reflect.TypeFor[fluxBootstrapGitArgs]()
}

// FluxBootstrapGitTimeouts is the plain form of FluxBootstrapGitTimeoutsArgs.
//
//nolint:revive // the type's published name
type FluxBootstrapGitTimeouts struct {
	Create *string `pulumi:"create"`
	Read   *string `pulumi:"read"`
	Update *string `pulumi:"update"`
	Delete *string `pulumi:"delete"`
}

// FluxBootstrapGitTimeoutsPtrOutput is an output of FluxBootstrapGitTimeouts, nil if the program sets none.
//
//nolint:revive // the type's published name
type FluxBootstrapGitTimeoutsPtrOutput struct{ *pulumi.OutputState }

// ElementType implements pulumi.Output.
func (FluxBootstrapGitTimeoutsPtrOutput) ElementType() reflect.Type {
	return reflect.TypeFor[*FluxBootstrapGitTimeouts]()
}

// FluxBootstrapGitTimeoutsArgs are durations such as "30s" or "2h45m".
//
//nolint:revive // the type's published name
type FluxBootstrapGitTimeoutsArgs struct {
	// Create, Read and Update are 15 minutes by default, Delete is 5 minutes.
	Create, Read, Update, Delete pulumi.StringPtrInput
}

// ElementType implements pulumi.Input.
func (FluxBootstrapGitTimeoutsArgs) ElementType() reflect.Type {
	return reflect.TypeFor[FluxBootstrapGitTimeouts]()
}
