package fluxcd

import (
	"errors"
	"fmt"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/apiextensions"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// SourceType is the type token of Source.
	SourceType = "strata:components:FluxSource"

	sourceVersion   = "source.toolkit.fluxcd.io/v1"
	sourceKind      = "GitRepository"
	defaultInterval = "1m"

	// sourceDeleteTimeout is more than source-controller ever needs to let go of a source. When it is over, the Kubernetes
	// provider looks once more whether the object is gone, which mends that it missed it.
	sourceDeleteTimeout = "30s"
)

// SourceArgs describe a repository that Flux fetches.
type SourceArgs struct {
	// Namespace of the source. Required.
	Namespace pulumi.StringInput
	// Name of the source, by default that of the resource.
	Name pulumi.StringInput
	// URL of the Git repository. Required.
	URL pulumi.StringInput
	// Branch to fetch, DefaultBranch by default.
	Branch pulumi.StringInput
	// Interval at which the repository is checked, "1m" by default.
	Interval pulumi.StringInput
	// Username and Password read a private repository. They become a Secret in Namespace: never give ones that may write to
	// more than Namespace's owner may.
	Username, Password pulumi.StringInput
}

// Source is a Git repository that Flux fetches.
type Source struct {
	pulumi.ResourceState

	// Namespace and Name of the source, known once it exists.
	Namespace pulumi.StringOutput `pulumi:"namespace"`
	Name      pulumi.StringOutput `pulumi:"name"`
	// Kind of the source, for references to it.
	Kind pulumi.StringOutput `pulumi:"kind"`
}

// NewSource makes Flux fetch a repository. The provider for the cluster comes by opts; Flux has to be there.
func NewSource(ctx *pulumi.Context, name string, args *SourceArgs, opts ...pulumi.ResourceOption) (*Source, error) {
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("make source %s: %w", name, err)
	}
	s := &Source{}
	object := or(args.Name, name)
	inputs := pulumi.Map{"namespace": args.Namespace, "name": object, "url": args.URL, "branch": or(args.Branch, DefaultBranch)}
	if err := ctx.RegisterComponentResourceV2(SourceType, name, inputs, s, opts...); err != nil {
		return nil, fmt.Errorf("make source %s: %w", name, err)
	}
	spec := pulumi.Map{
		"url":      args.URL,
		"interval": or(args.Interval, defaultInterval),
		"ref":      pulumi.Map{"branch": or(args.Branch, DefaultBranch)},
	}
	if args.Username != nil {
		credentials, err := newCredentials(ctx, name+"-credentials", args.Namespace, object, args.Username, args.Password, s)
		if err != nil {
			return nil, fmt.Errorf("make source %s: %w", name, err)
		}
		spec["secretRef"] = pulumi.Map{"name": credentials.Metadata.Name().Elem()}
	}
	repository, err := newObject(ctx, name+"-repository", sourceVersion, sourceKind, args.Namespace, object, spec,
		pulumi.Parent(s), pulumi.Timeouts(&pulumi.CustomTimeouts{Delete: sourceDeleteTimeout}))
	if err != nil {
		return nil, fmt.Errorf("make source %s: %w", name, err)
	}
	s.Namespace, s.Name, s.Kind = repository.Metadata.Namespace().Elem(), repository.Metadata.Name().Elem(), repository.Kind
	return s, ctx.RegisterResourceOutputs(s, pulumi.Map{"namespace": s.Namespace, "name": s.Name, "kind": s.Kind})
}

// newObject makes one of Flux's custom resources.
func newObject(
	ctx *pulumi.Context, resource, version, kind string, namespace, name pulumi.StringInput, spec pulumi.Map, opts ...pulumi.ResourceOption,
) (*apiextensions.CustomResource, error) {
	return apiextensions.NewCustomResource(ctx, resource, &apiextensions.CustomResourceArgs{
		ApiVersion:  pulumi.String(version),
		Kind:        pulumi.String(kind),
		Metadata:    metadata(namespace, name),
		OtherFields: kubernetes.UntypedArgs{"spec": spec},
	}, opts...)
}

// metadata names an object that is deleted at once. By default the Kubernetes provider has it deleted in the foreground,
// which takes the garbage collector, and that learns of Flux's kinds only half a minute after they came; and it can miss that
// an object is gone where somebody else removes the last finalizer.
func metadata(namespace, name pulumi.StringInput) *metav1.ObjectMetaArgs {
	return &metav1.ObjectMetaArgs{
		Namespace:   namespace,
		Name:        name,
		Annotations: pulumi.StringMap{"pulumi.com/deletionPropagationPolicy": pulumi.String("background")},
	}
}

func (a *SourceArgs) check() error {
	switch {
	case a.Namespace == nil || a.URL == nil:
		return errors.New("Namespace and URL must be given")
	case (a.Username == nil) != (a.Password == nil):
		return errors.New("Username and Password must be given together")
	}
	return nil
}
