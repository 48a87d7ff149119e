package fluxcd

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi-random/sdk/v4/go/random"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/component"
	"github.com/strata-platform/strata/components/internal/inputs"
)

const (
	// ReceiverType is the type token of Receiver.
	ReceiverType = "strata:index:FluxReceiver"
	// RepositoriesAnnotation lists the URLs of the repositories whose pushes a Receiver waits for, separated by spaces.
	// The Git server of these repositories finds the Receiver by this annotation.
	RepositoriesAnnotation = "strata.dev/repositories"
	// HMACReceiver is the type of a caller that signs the request body. The header X-Signature holds "sha256=" and the
	// HMAC of the body in hexadecimal; the token is the key.
	HMACReceiver = "generic-hmac"

	receiverVersion = "notification.toolkit.fluxcd.io/v1"
	receiverKind    = "Receiver"
	tokenLength     = 48
)

// defaultEvents maps each type of caller that a Receiver supports to its events for a push. A type without events accepts
// every request. Flux's types gcr and generic-oidc are missing, because they need more than a token.
var defaultEvents = map[string][]string{
	HMACReceiver: nil, "github": {"ping", "push"}, "gitlab": {"Push Hook", "Tag Push Hook"}, "bitbucket": {"repo:refs_changed"},
	"harbor": nil, "dockerhub": nil, "quay": nil, "nexus": nil, "acr": nil, "cdevents": nil, "generic": nil,
}

// ReceiverArgs describes a receiver and its caller.
type ReceiverArgs struct {
	// Namespace is the namespace of the receiver. Required. The sources must be in the same namespace.
	Namespace pulumi.StringInput
	// Name is the name of the receiver; nil means the name of the resource. Its Secret is called NAME-webhook.
	Name pulumi.StringInput
	// Sources are the sources that Flux checks at once when the caller reports a push. At least one is required.
	Sources []*Source
	// Type is the type of the caller: HMACReceiver (the default), github, gitlab, bitbucket, harbor, dockerhub, quay,
	// nexus, acr, cdevents, or generic. A generic caller proves only that it knows the path.
	Type string
	// Events are the events that the caller may send, for types that have events; nil means the events of a push.
	Events []string
	// Token is the shared secret of caller and receiver; nil means a random token.
	Token pulumi.StringInput
	// Keepers replace the random token when one of them changes.
	Keepers pulumi.StringMapInput
	// SecretLabels are the labels of the Secret with the token; nil means none.
	SecretLabels pulumi.StringMapInput
}

// Receiver is the endpoint at which a caller reports a push: Path at the Service webhook-receiver in Flux's Namespace.
type Receiver struct {
	pulumi.ResourceState

	// Namespace and Name of the receiver, known once it exists.
	Namespace pulumi.StringOutput `pulumi:"namespace"`
	Name      pulumi.StringOutput `pulumi:"name"`
	// Path is the URL path that the caller posts to. It is a secret: nobody can guess it without the token.
	Path pulumi.StringOutput `pulumi:"path"`
	// Token is the key of the caller's signature. It is a secret.
	Token pulumi.StringOutput `pulumi:"token"`
}

// NewReceiver creates a receiver for pushes. Pass the provider for the cluster in opts. Flux must be installed with its
// notification-controller. The token lets its holder trigger a check of the sources and nothing else. For the option
// DeletedWith see NewSource.
func NewReceiver(ctx *pulumi.Context, name string, args *ReceiverArgs, opts ...pulumi.ResourceOption) (*Receiver, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("create receiver %s: %w", name, err)
	}
	r := &Receiver{}
	object := inputs.Or(args.Name, pulumi.String(name))
	properties := pulumi.Map{"namespace": args.Namespace, "name": object, "type": pulumi.String(args.kind())}
	if err := component.Register(ctx, ReceiverType, name, properties, r, opts...); err != nil {
		return nil, fmt.Errorf("create receiver %s: %w", name, err)
	}
	child, err := childOptions(r, opts)
	if err != nil {
		return nil, fmt.Errorf("create receiver %s: %w", name, err)
	}
	token, err := args.token(ctx, name, r)
	if err != nil {
		return nil, fmt.Errorf("create receiver %s: %w", name, err)
	}
	kept := metadata(args.Namespace, pulumi.Sprintf("%s-webhook", object))
	kept.Labels = args.SecretLabels
	made, err := newSecret(ctx, name+"-token", kept, opaque,
		map[string]pulumi.StringInput{"token": token}, child...)
	if err != nil {
		return nil, fmt.Errorf("create receiver %s: %w", name, err)
	}
	spec := pulumi.Map{"type": pulumi.String(args.kind()), "resources": args.resources()}
	reference(spec, "secretRef", made.Metadata.Name().Elem())
	if events := args.events(); len(events) > 0 {
		spec["events"] = pulumi.ToStringArray(events)
	}
	meta := metadata(args.Namespace, object)
	meta.Annotations.(pulumi.StringMap)[RepositoriesAnnotation] = args.repositories()
	receiver, err := newAnnotatedObject(ctx, name+"-receiver", receiverVersion, receiverKind, meta, spec, append(child, boundedDelete)...)
	if err != nil {
		return nil, fmt.Errorf("create receiver %s: %w", name, err)
	}
	r.Namespace, r.Name = receiver.Metadata.Namespace().Elem(), receiver.Metadata.Name().Elem()
	r.Token = token
	r.Path = pulumi.All(token, r.Name, r.Namespace).ApplyT(func(of []any) string {
		return webhookPath(of[0].(string), of[1].(string), of[2].(string))
	}).(pulumi.StringOutput)
	return r, ctx.RegisterResourceOutputs(r, pulumi.Map{"namespace": r.Namespace, "name": r.Name, "path": r.Path, "token": r.Token})
}

// webhookPath returns the path at which notification-controller serves a receiver (Flux, "Receivers").
func webhookPath(token, name, namespace string) string {
	digest := sha256.Sum256([]byte(token + name + namespace))
	return "/hook/" + hex.EncodeToString(digest[:])
}

func (a *ReceiverArgs) token(ctx *pulumi.Context, name string, parent pulumi.Resource) (pulumi.StringOutput, error) {
	if !inputs.Missing(a.Token) {
		return secret(a.Token), nil
	}
	made, err := random.NewRandomPassword(ctx, name+"-secret", &random.RandomPasswordArgs{
		Length: pulumi.Int(tokenLength), Special: pulumi.Bool(false), Keepers: inputs.OptionalMap(a.Keepers),
	}, pulumi.Parent(parent))
	if err != nil {
		return pulumi.StringOutput{}, err
	}
	return secret(made.Result), nil
}

func (a *ReceiverArgs) resources() pulumi.Array {
	resources := make(pulumi.Array, len(a.Sources))
	for i, s := range a.Sources {
		resources[i] = pulumi.Map{"apiVersion": pulumi.String(sourceVersion), "kind": s.Kind, "name": s.Name}
	}
	return resources
}

func (a *ReceiverArgs) repositories() pulumi.StringOutput {
	urls := make(pulumi.StringArray, len(a.Sources))
	for i, s := range a.Sources {
		urls[i] = s.URL
	}
	return urls.ToStringArrayOutput().ApplyT(func(urls []string) string { return strings.Join(urls, " ") }).(pulumi.StringOutput)
}

func (a *ReceiverArgs) kind() string {
	if a.Type == "" {
		return HMACReceiver
	}
	return a.Type
}

func (a *ReceiverArgs) events() []string {
	if a.Events != nil {
		return a.Events
	}
	return defaultEvents[a.kind()]
}

func (a *ReceiverArgs) check() error {
	var p problems
	p.refuse(inputs.Missing(a.Namespace) || len(a.Sources) == 0, "Namespace and Sources must be given")
	p.refuse(slices.Contains(a.Sources, nil), "a Source must not be nil")
	_, known := defaultEvents[a.kind()]
	p.refuse(!known, fmt.Sprintf("Type %q must be one of %s", a.Type, strings.Join(slices.Sorted(maps.Keys(defaultEvents)), ", ")))
	p.refuse(!inputs.Missing(a.Token) && inputs.OptionalMap(a.Keepers) != nil, "Keepers replace a random token, but Token is given: remove one of them")
	return p.err()
}
