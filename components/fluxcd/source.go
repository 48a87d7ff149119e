package fluxcd

import (
	"fmt"
	"slices"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/apiextensions"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/inputs"
)

const (
	// SourceType is the type token of Source.
	SourceType = "strata:components:FluxSource"

	sourceVersion   = "source.toolkit.fluxcd.io/v1"
	defaultInterval = "1m"

	// deleteTimeout is more than a controller of Flux ever needs to let go of an object that nothing was made of.
	deleteTimeout = "5s"
	// syncDeleteTimeout is for objects of which something was made.
	syncDeleteTimeout = "2m"
)

// patient bounds the wait for an object to go. The Kubernetes provider misses an object's end that comes between its first
// look and its watch; when the time is over it looks once more.
var patient = pulumi.Timeouts(&pulumi.CustomTimeouts{Delete: deleteTimeout})

// childOptions are the options of a component's children. Unlike others, DeletedWith is not theirs by itself.
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

// SourceArgs describe something that Flux fetches.
type SourceArgs struct {
	// Namespace of the source. Required.
	Namespace pulumi.StringInput
	// Name of the source, by default that of the resource.
	Name pulumi.StringInput
	// Origin is what is fetched: Git, OCI or Bucket. Required.
	Origin Origin
	// Interval at which Origin is checked, "1m" by default. A Receiver has it checked at once.
	Interval pulumi.StringInput
	// Timeout of one fetch. Without it Flux takes a minute.
	Timeout pulumi.StringInput
	// Ignore lists what is left out, in the format of .gitignore. Without it Flux leaves out what is no manifest.
	Ignore pulumi.StringInput
	// ProxySecret names a Secret in Namespace with the address, and where it wants them the username and password, of a
	// proxy to fetch through.
	ProxySecret pulumi.StringInput
	// SecretLabels are the labels of the Secrets that are made for Origin; by default they have none.
	SecretLabels pulumi.StringMapInput
}

// Origin is where a Source is fetched from: Git, OCI or Bucket.
type Origin interface {
	// check returns what is wrong with the fields.
	check() []string
	// kind of Flux's resource.
	kind() string
	// address is what the source fetches, without any credential.
	address() pulumi.StringInput
	// fill puts what is the origin's own into the spec and makes the Secrets that it refers to.
	fill(b *sourceBuilder) error
}

// Source is something that Flux fetches.
type Source struct {
	pulumi.ResourceState

	// Namespace and Name of the source, known once it exists.
	Namespace pulumi.StringOutput `pulumi:"namespace"`
	Name      pulumi.StringOutput `pulumi:"name"`
	// Kind of the source, for references to it: GitRepository, OCIRepository or Bucket.
	Kind pulumi.StringOutput `pulumi:"kind"`
	// URL is what is fetched; of a bucket it is its endpoint and its name.
	URL pulumi.StringOutput `pulumi:"url"`
}

// NewSource makes Flux fetch something. The provider for the cluster comes by opts; Flux has to be there. The
// option DeletedWith holds for all of it. Give it only where Flux is removed before the namespace: Flux's finalizer makes a
// namespace that is deleted around a source wait for many seconds.
func NewSource(ctx *pulumi.Context, name string, args *SourceArgs, opts ...pulumi.ResourceOption) (*Source, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("make source %s: %w", name, err)
	}
	s := &Source{}
	object := or(args.Name, name)
	inputs := pulumi.Map{
		"namespace": args.Namespace, "name": object, "kind": pulumi.String(args.Origin.kind()), "url": args.Origin.address(),
	}
	if err := ctx.RegisterComponentResourceV2(SourceType, name, inputs, s, opts...); err != nil {
		return nil, fmt.Errorf("make source %s: %w", name, err)
	}
	child, err := childOptions(s, opts)
	if err != nil {
		return nil, fmt.Errorf("make source %s: %w", name, err)
	}
	b := &sourceBuilder{ctx: ctx, name: name, namespace: args.Namespace, object: object, labels: args.SecretLabels, child: child, spec: args.spec()}
	if err := args.Origin.fill(b); err != nil {
		return nil, fmt.Errorf("make source %s: %w", name, err)
	}
	resource := name + "-" + map[string]string{gitKind: "repository", ociKind: "repository", bucketKind: "bucket"}[args.Origin.kind()]
	fetched, err := newObject(ctx, resource, sourceVersion, args.Origin.kind(), args.Namespace, object, b.spec,
		append(child, patient)...)
	if err != nil {
		return nil, fmt.Errorf("make source %s: %w", name, err)
	}
	s.Namespace, s.Name, s.Kind = fetched.Metadata.Namespace().Elem(), fetched.Metadata.Name().Elem(), fetched.Kind
	s.URL = args.Origin.address().ToStringOutput()
	return s, ctx.RegisterResourceOutputs(s, pulumi.Map{"namespace": s.Namespace, "name": s.Name, "kind": s.Kind, "url": s.URL})
}

// spec is what every kind of source has.
func (a *SourceArgs) spec() pulumi.Map {
	spec := pulumi.Map{"interval": or(a.Interval, defaultInterval)}
	put(spec, "timeout", a.Timeout)
	put(spec, "ignore", a.Ignore)
	reference(spec, "proxySecretRef", a.ProxySecret)
	return spec
}

func (a *SourceArgs) check() error {
	var p problems
	p.refuse(a.Namespace == nil, "Namespace must be given")
	p.refuse(a.Origin == nil, "Origin must be given: Git, OCI or Bucket")
	if a.Origin != nil {
		p = append(p, a.Origin.check()...)
	}
	return p.err()
}

// sourceBuilder carries what an Origin needs to fill in a source.
type sourceBuilder struct {
	ctx *pulumi.Context
	// name is that of the component, object that of the source in the cluster.
	name              string
	namespace, object pulumi.StringInput
	// labels are those of the source's Secrets.
	labels pulumi.StringMapInput
	// child are the options of what belongs to the source.
	child []pulumi.ResourceOption
	spec  pulumi.Map
}

// secret makes a Secret with those of the data that are given, and has the spec refer to it by field. suffix tells it from
// the source's other Secrets.
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

// reference puts a reference to an object of the same namespace into a spec, where it is given.
func reference(spec pulumi.Map, field string, name pulumi.StringInput) {
	if name != nil {
		spec[field] = pulumi.Map{"name": name}
	}
}

// put puts a value into a spec, where it is given.
func put(spec pulumi.Map, field string, value pulumi.StringInput) {
	if value != nil {
		spec[field] = value
	}
}

// newObject makes one of Flux's custom resources.
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
