package fluxcd

import (
	"fmt"
	"slices"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/apiextensions"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/component"
	"github.com/strata-platform/strata/components/internal/inputs"
)

const (
	// SourceType is the type token of Source.
	SourceType = "strata:index:FluxSource"

	sourceVersion   = "source.toolkit.fluxcd.io/v1"
	defaultInterval = "1m"

	// deleteTimeout is longer than a controller of Flux ever needs to finalize an object that has created nothing.
	deleteTimeout = "5s"
	// syncDeleteTimeout is for objects that have created others.
	syncDeleteTimeout = "2m"
)

// boundedDelete bounds the wait for an object's deletion. The Kubernetes provider misses a deletion that happens between
// its first read and the start of its watch. It reads again when the timeout expires.
var boundedDelete = pulumi.Timeouts(&pulumi.CustomTimeouts{Delete: deleteTimeout})

// childOptions returns the options of a component's children. Pulumi hands down other options of a component by itself,
// but not DeletedWith.
func childOptions(parent pulumi.Resource, opts []pulumi.ResourceOption) ([]pulumi.ResourceOption, error) {
	given, err := pulumi.NewResourceOptions(opts...)
	if err != nil {
		return nil, err
	}
	child := []pulumi.ResourceOption{pulumi.Parent(parent)}
	if given.DeletedWith != nil {
		child = append(child, pulumi.DeletedWith(given.DeletedWith))
	}
	return slices.Clip(child), nil
}

// SourceArgs describes a source of Flux.
type SourceArgs struct {
	// Namespace is the namespace of the source. Required.
	Namespace pulumi.StringInput
	// Name is the name of the source; nil means the name of the resource.
	Name pulumi.StringInput
	// Origin is the place to fetch from: Git, OCI or Bucket. Required.
	Origin Origin
	// Interval is the polling interval of Origin; nil means "1m". A Receiver triggers a check at once.
	Interval pulumi.StringInput
	// Timeout limits one fetch; nil means Flux's default of one minute.
	Timeout pulumi.StringInput
	// Ignore lists the files to leave out, in the format of .gitignore; nil means Flux's defaults, which leave out files
	// that are not manifests.
	Ignore pulumi.StringInput
	// ProxySecret names a Secret in Namespace with the address of a proxy for the fetch, and optionally its username and
	// password.
	ProxySecret pulumi.StringInput
	// SecretLabels are the labels of the Secrets for Origin; nil means none.
	SecretLabels pulumi.StringMapInput
}

// Origin is the place that a Source is fetched from: Git, OCI or Bucket.
type Origin interface {
	// check returns the problems of the fields.
	check() []string
	// kind returns the kind of Flux's resource.
	kind() string
	// address returns the address of the source, without any credential.
	address() pulumi.StringInput
	// fill adds the origin's own fields to the spec and creates the Secrets that they refer to.
	fill(b *sourceBuilder) error
}

// Source is a source that Flux fetches.
type Source struct {
	pulumi.ResourceState

	// Namespace and Name of the source, known once it exists.
	Namespace pulumi.StringOutput `pulumi:"namespace"`
	Name      pulumi.StringOutput `pulumi:"name"`
	// Kind is the kind of the source, for references to it: GitRepository, OCIRepository or Bucket.
	Kind pulumi.StringOutput `pulumi:"kind"`
	// URL is the URL of the source; for a bucket, its endpoint and its name.
	URL pulumi.StringOutput `pulumi:"url"`
}

// NewSource makes Flux fetch a source. Pass the provider for the cluster in opts. Flux must be installed. The option
// DeletedWith applies to all resources of the source. Give it only where Flux is removed before the namespace: otherwise
// Flux's finalizer delays the deletion of the namespace for many seconds.
func NewSource(ctx *pulumi.Context, name string, args *SourceArgs, opts ...pulumi.ResourceOption) (*Source, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("create source %s: %w", name, err)
	}
	s := &Source{}
	object := inputs.Or(args.Name, pulumi.String(name))
	properties := pulumi.Map{
		"namespace": args.Namespace, "name": object, "kind": pulumi.String(args.Origin.kind()), "url": args.Origin.address(),
	}
	if err := component.Register(ctx, SourceType, name, properties, s, opts...); err != nil {
		return nil, fmt.Errorf("create source %s: %w", name, err)
	}
	child, err := childOptions(s, opts)
	if err != nil {
		return nil, fmt.Errorf("create source %s: %w", name, err)
	}
	b := &sourceBuilder{ctx: ctx, name: name, namespace: args.Namespace, object: object, labels: args.SecretLabels, child: child, spec: args.spec()}
	if err := args.Origin.fill(b); err != nil {
		return nil, fmt.Errorf("create source %s: %w", name, err)
	}
	resource := name + "-" + map[string]string{gitKind: "repository", ociKind: "repository", bucketKind: "bucket"}[args.Origin.kind()]
	fetched, err := newObject(ctx, resource, sourceVersion, args.Origin.kind(), args.Namespace, object, b.spec,
		append(child, boundedDelete)...)
	if err != nil {
		return nil, fmt.Errorf("create source %s: %w", name, err)
	}
	s.Namespace, s.Name, s.Kind = fetched.Metadata.Namespace().Elem(), fetched.Metadata.Name().Elem(), fetched.Kind
	s.URL = args.Origin.address().ToStringOutput()
	return s, ctx.RegisterResourceOutputs(s, pulumi.Map{"namespace": s.Namespace, "name": s.Name, "kind": s.Kind, "url": s.URL})
}

// spec returns the fields that every kind of source has.
func (a *SourceArgs) spec() pulumi.Map {
	spec := pulumi.Map{"interval": inputs.Or(a.Interval, pulumi.String(defaultInterval))}
	put(spec, "timeout", a.Timeout)
	put(spec, "ignore", a.Ignore)
	reference(spec, "proxySecretRef", a.ProxySecret)
	return spec
}

func (a *SourceArgs) check() error {
	var p problems
	p.refuse(inputs.Missing(a.Namespace), "Namespace must be given")
	p.refuse(a.Origin == nil, "Origin must be given: Git, OCI or Bucket")
	if a.Origin != nil {
		p = append(p, a.Origin.check()...)
	}
	return p.err()
}

// sourceBuilder carries the arguments of Origin.fill.
type sourceBuilder struct {
	ctx *pulumi.Context
	// name is the name of the component; object is the name of the source in the cluster.
	name              string
	namespace, object pulumi.StringInput
	// labels are the labels of the source's Secrets.
	labels pulumi.StringMapInput
	// child are the options of the source's children.
	child []pulumi.ResourceOption
	spec  pulumi.Map
}

// secret creates a Secret with the data whose values are given, and makes the field of the spec refer to it. The suffix
// distinguishes it from the source's other Secrets.
func (b *sourceBuilder) secret(spec pulumi.Map, field, suffix, kind string, data map[string]pulumi.StringInput) error {
	name := b.object
	if suffix != credentialsSuffix {
		name = pulumi.Sprintf("%s-%s", b.object, suffix)
	}
	meta := metadata(b.namespace, name)
	meta.Labels = b.labels
	made, err := newSecret(b.ctx, b.name+"-"+suffix, meta, kind, data, b.child...)
	if err != nil {
		return err
	}
	reference(spec, field, made.Metadata.Name().Elem())
	return nil
}

// reference sets a field of a spec to a reference to an object of the same namespace, unless the name is missing.
func reference(spec pulumi.Map, field string, name pulumi.StringInput) {
	if !inputs.Missing(name) {
		spec[field] = pulumi.Map{"name": name}
	}
}

// put sets a field of a spec, unless the value is missing.
func put(spec pulumi.Map, field string, value pulumi.StringInput) {
	if !inputs.Missing(value) {
		spec[field] = value
	}
}

// newObject creates one of Flux's custom resources.
func newObject(
	ctx *pulumi.Context, resource, version, kind string, namespace, name pulumi.StringInput, spec pulumi.Map, opts ...pulumi.ResourceOption,
) (*apiextensions.CustomResource, error) {
	return newAnnotatedObject(ctx, resource, version, kind, metadata(namespace, name), spec, opts...)
}

func newAnnotatedObject(
	ctx *pulumi.Context, resource, version, kind string, metadata *metav1.ObjectMetaArgs, spec pulumi.Map, opts ...pulumi.ResourceOption,
) (*apiextensions.CustomResource, error) {
	return apiextensions.NewCustomResource(ctx, resource, &apiextensions.CustomResourceArgs{
		ApiVersion:  pulumi.String(version),
		Kind:        pulumi.String(kind),
		Metadata:    metadata,
		OtherFields: kubernetes.UntypedArgs{"spec": spec},
	}, opts...)
}

// metadata returns metadata that make the provider delete the object with background propagation. By default the
// Kubernetes provider deletes in the foreground, which needs the garbage collector. The garbage collector discovers
// Flux's kinds only half a minute after their creation, and can miss a deletion if another client removes the last
// finalizer.
func metadata(namespace, name pulumi.StringInput) *metav1.ObjectMetaArgs {
	return &metav1.ObjectMetaArgs{
		Namespace:   namespace,
		Name:        name,
		Annotations: pulumi.StringMap{"pulumi.com/deletionPropagationPolicy": pulumi.String("background")},
	}
}
