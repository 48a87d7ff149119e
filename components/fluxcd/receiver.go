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

	"github.com/strata-platform/strata/components/internal/inputs"
)

const (
	// ReceiverType is the type token of Receiver.
	ReceiverType = "strata:components:FluxReceiver"
	// RepositoriesAnnotation is what a Receiver says of the repositories whose pushes it waits for: their URLs, with a space
	// between two. A forge that serves them finds it by that.
	RepositoriesAnnotation = "strata.dev/repositories"
	// HMACReceiver is a caller that signs what it sends in the header X-Signature: "sha256=" and the HMAC of the body in
	// hexadecimal, with the token as the key.
	HMACReceiver = "generic-hmac"

	receiverVersion = "notification.toolkit.fluxcd.io/v1"
	receiverKind    = "Receiver"
	tokenLength     = 48
)

// defaultEvents are the types of callers that a Receiver can be made for, with the events that a push is among theirs. A type
// without any takes whatever is sent. Of Flux's other types, gcr and generic-oidc, a token does not suffice.
var defaultEvents = map[string][]string{
	HMACReceiver: nil, "github": {"ping", "push"}, "gitlab": {"Push Hook", "Tag Push Hook"}, "bitbucket": {"repo:refs_changed"},
	"harbor": nil, "dockerhub": nil, "quay": nil, "nexus": nil, "acr": nil, "cdevents": nil, "generic": nil,
}

// ReceiverArgs describe who may tell Flux of a push.
type ReceiverArgs struct {
	// Namespace of the receiver. Required; the sources have to be in the same one.
	Namespace pulumi.StringInput
	// Name of the receiver, by default that of the resource. Its Secret is called NAME-webhook.
	Name pulumi.StringInput
	// Sources are checked at once when the caller says so. At least one is required.
	Sources []*Source
	// Type of the caller: HMACReceiver (the default), github, gitlab, bitbucket, harbor, dockerhub, quay, nexus, acr, cdevents,
	// or generic, which proves nothing but that it knows the path.
	Type string
	// Events that the caller may send, of those types that have any; by default those of a push.
	Events []string
	// Token that the caller and the receiver share. By default a random one is made.
	Token pulumi.StringInput
	// Keepers replace the random token when any of them changes.
	Keepers pulumi.StringMapInput
	// SecretLabels are the labels of the Secret that holds the token; by default it has none.
	SecretLabels pulumi.StringMapInput
}

// Receiver is where Flux is told of a push: Path at the Service webhook-receiver in Namespace of Flux.
type Receiver struct {
	pulumi.ResourceState

	// Namespace and Name of the receiver, known once it exists.
	Namespace pulumi.StringOutput `pulumi:"namespace"`
	Name      pulumi.StringOutput `pulumi:"name"`
	// Path is what the caller posts to. It is a secret: it cannot be guessed without the token.
	Path pulumi.StringOutput `pulumi:"path"`
	// Token is what the caller signs with. It is a secret.
	Token pulumi.StringOutput `pulumi:"token"`
}

// NewReceiver makes Flux listen for a push. The provider for the cluster comes by opts; Flux has to be there, with its
// notification-controller. Whoever holds the token can do no more than have the sources checked. For the option
// DeletedWith see NewSource.
func NewReceiver(ctx *pulumi.Context, name string, args *ReceiverArgs, opts ...pulumi.ResourceOption) (*Receiver, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("make receiver %s: %w", name, err)
	}
	r := &Receiver{}
	object := or(args.Name, name)
	inputs := pulumi.Map{"namespace": args.Namespace, "name": object, "type": pulumi.String(args.kind())}
	if err := ctx.RegisterComponentResourceV2(ReceiverType, name, inputs, r, opts...); err != nil {
		return nil, fmt.Errorf("make receiver %s: %w", name, err)
	}
	child, err := childOptions(r, opts)
	if err != nil {
		return nil, fmt.Errorf("make receiver %s: %w", name, err)
	}
	token, err := args.token(ctx, name, r)
	if err != nil {
		return nil, fmt.Errorf("make receiver %s: %w", name, err)
	}
	kept := metadata(args.Namespace, pulumi.Sprintf("%s-webhook", object))
	kept.Labels = args.SecretLabels
	made, err := newSecret(ctx, name+"-token", kept, opaque,
		map[string]pulumi.StringInput{"token": token}, child...)
	if err != nil {
		return nil, fmt.Errorf("make receiver %s: %w", name, err)
	}
	spec := pulumi.Map{"type": pulumi.String(args.kind()), "resources": args.resources()}
	reference(spec, "secretRef", made.Metadata.Name().Elem())
	if events := args.events(); len(events) > 0 {
		spec["events"] = pulumi.ToStringArray(events)
	}
	meta := metadata(args.Namespace, object)
	meta.Annotations.(pulumi.StringMap)[RepositoriesAnnotation] = args.repositories()
	receiver, err := newAnnotatedObject(ctx, name+"-receiver", receiverVersion, receiverKind, meta, spec, append(child, patient)...)
	if err != nil {
		return nil, fmt.Errorf("make receiver %s: %w", name, err)
	}
	r.Namespace, r.Name = receiver.Metadata.Namespace().Elem(), receiver.Metadata.Name().Elem()
	r.Token = token
	r.Path = pulumi.All(token, r.Name, r.Namespace).ApplyT(func(of []any) string {
		return webhookPath(of[0].(string), of[1].(string), of[2].(string))
	}).(pulumi.StringOutput)
	return r, ctx.RegisterResourceOutputs(r, pulumi.Map{"namespace": r.Namespace, "name": r.Name, "path": r.Path, "token": r.Token})
}

// webhookPath is where notification-controller listens for a receiver (Flux, "Receivers").
func webhookPath(token, name, namespace string) string {
	digest := sha256.Sum256([]byte(token + name + namespace))
	return "/hook/" + hex.EncodeToString(digest[:])
}

func (a *ReceiverArgs) token(ctx *pulumi.Context, name string, parent pulumi.Resource) (pulumi.StringOutput, error) {
	if a.Token != nil {
		return secret(a.Token), nil
	}
	made, err := random.NewRandomPassword(ctx, name+"-secret", &random.RandomPasswordArgs{
		Length: pulumi.Int(tokenLength), Special: pulumi.Bool(false), Keepers: a.Keepers,
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
	p.refuse(a.Namespace == nil || len(a.Sources) == 0, "Namespace and Sources must be given")
	p.refuse(slices.Contains(a.Sources, nil), "a Source must not be nil")
	_, known := defaultEvents[a.kind()]
	p.refuse(!known, fmt.Sprintf("Type %q must be one of %s", a.Type, strings.Join(slices.Sorted(maps.Keys(defaultEvents)), ", ")))
	p.refuse(a.Token != nil && a.Keepers != nil, "Keepers are of the random token, which Token takes the place of")
	return p.err()
}
