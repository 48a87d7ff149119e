// Package stack creates a Stack of the Pulumi Kubernetes Operator, with its Program, and waits until the operator has run
// it successfully.
//
//	shop, err := stack.NewStack(ctx, "shop", &stack.StackArgs{
//		Namespace: pulumi.String("team-web"), Name: pulumi.String("shop"),
//		Program: &pulumiv1.ProgramSpec{Resources: map[string]pulumiv1.Resource{"password": {Type: "random:RandomPassword"}}},
//		Spec:    pulumiv1.StackSpec{Stack: "dev", ServiceAccountName: "web", DestroyOnFinalize: true},
//		Config:  pulumi.Map{"instance": instance.Name},
//	}, pulumi.Provider(cluster))
//	// shop.Outputs are the outputs of the Pulumi stack that the operator runs
//
// The objects have the types of package operator/api/v1. The Kubernetes provider applies them by server-side apply.
// Values that only exist while the program runs, such as an output of another resource, belong in Config, Env,
// SecretConfig and SecretEnv.
package stack

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/component"
	"github.com/strata-platform/strata/components/internal/inputs"
	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"
)

// Type is the component's type token.
const Type = "strata:index:Stack"

// DefaultTimeout limits the wait for the operator when StackArgs.Timeout is empty.
const DefaultTimeout = "10m"

// maxName is the limit of the operator's API.
const maxName = 42

// StackArgs describes a Stack. Spec and Program are plain values: NewStack checks them, and the digest of the program
// requests a new run. NoWait and Timeout are plain values, because they become options of the resources.
//
//nolint:revive // Pulumi users expect the arguments of NewStack under this name
type StackArgs struct {
	// Namespace is the namespace of the Stack and its other objects. Required.
	Namespace pulumi.StringInput
	// Name is the name of the Stack, of its Program and of the Secret with SecretConfig and SecretEnv. Required; at most
	// 42 characters. NewStack checks a plain name, the API server a computed one.
	Name pulumi.StringInput
	// Labels are the labels of all these objects.
	Labels pulumi.StringMapInput

	// Spec is the Stack's specification. Spec.Stack is required, and exactly one source: Program, or one of the source
	// fields of Spec.
	Spec pulumiv1.StackSpec
	// Program is a Pulumi YAML program. NewStack creates it as a Program object and sets Spec.ProgramRef to it. Nil
	// means that Spec names the source.
	Program *pulumiv1.ProgramSpec

	// Config adds keys to Spec.Config. Everybody who may read the Stack can read their values.
	Config pulumi.Map
	// SecretConfig adds keys to Spec.SecretRefs. A Secret holds their values.
	SecretConfig pulumi.StringMap
	// Env adds variables to Spec.EnvRefs. Everybody who may read the Stack can read their values.
	Env pulumi.StringMap
	// SecretEnv adds variables to Spec.EnvRefs. The Secret of SecretConfig holds their values too.
	SecretEnv pulumi.StringMap

	// NoWait makes NewStack return as soon as the objects exist. Otherwise NewStack waits until the operator has run the
	// Stack, and fails if that run has not succeeded within Timeout. The Stack's Ready condition gives the reason.
	NoWait bool
	// Timeout limits the wait, as a duration such as 15m; empty means DefaultTimeout.
	Timeout string
}

// Stack is a Stack with its Program.
type Stack struct {
	pulumi.ResourceState

	// Namespace and Name identify the Stack. They are known once the Stack is ready, or with NoWait once it exists.
	Namespace pulumi.StringOutput `pulumi:"namespace"`
	Name      pulumi.StringOutput `pulumi:"name"`
	// Outputs are the outputs of the Pulumi stack at the time of NewStack's last change. A refresh reads the outputs of later
	// runs. pulumiv1.SecretOutput replaces the value of a secret. Empty with NoWait.
	Outputs pulumi.MapOutput `pulumi:"outputs"`
}

// NewStack creates the Stack, its Program and its Secret. Pass the provider for the cluster in opts.
func NewStack(ctx *pulumi.Context, name string, args *StackArgs, opts ...pulumi.ResourceOption) (*Stack, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("create Stack %s: %w", name, err)
	}
	stack := &Stack{}
	properties := pulumi.Map{"namespace": args.Namespace, "name": args.Name, "stack": pulumi.String(args.Spec.Stack)}
	if err := component.Register(ctx, Type, name, properties, stack, opts...); err != nil {
		return nil, fmt.Errorf("create Stack %s: %w", name, err)
	}
	b := &builder{ctx: ctx, name: name, args: args, parent: stack, secretVersion: pulumi.String("")}
	for _, step := range []func() error{b.program, b.secret} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("create Stack %s: %w", name, err)
		}
	}
	made, err := b.stack()
	if err != nil {
		return nil, fmt.Errorf("create Stack %s: %w", name, err)
	}
	stack.Namespace, stack.Name = made.Metadata.Namespace().Elem(), made.Metadata.Name().Elem()
	stack.Outputs = made.outputs()
	return stack, ctx.RegisterResourceOutputs(stack, pulumi.Map{
		"namespace": stack.Namespace, "name": stack.Name, "outputs": stack.Outputs,
	})
}

// builder carries the state that the steps of NewStack share.
type builder struct {
	ctx    *pulumi.Context
	name   string
	args   *StackArgs
	parent pulumi.Resource

	// before are the resources that must outlive the Stack: its destroy needs the program and the secrets.
	before []pulumi.Resource
	// secretVersion changes with the Secret. A digest of its values would change too, but it would let a reader guess
	// weak values.
	secretVersion pulumi.StringInput
}

func (b *builder) metadata() *metav1.ObjectMetaArgs {
	return &metav1.ObjectMetaArgs{Namespace: inputs.Optional(b.args.Namespace), Name: inputs.Optional(b.args.Name), Labels: b.args.Labels}
}

// secret creates the Secret with the values that the Stack must not reveal.
func (b *builder) secret() error {
	data := pulumi.StringMap{}
	for key, value := range b.args.SecretConfig {
		data[secretConfigKey(key)] = value
	}
	for name, value := range b.args.SecretEnv {
		data[secretEnvKey(name)] = value
	}
	if len(data) == 0 {
		return nil
	}
	secret, err := corev1.NewSecret(b.ctx, b.name+"-secret", &corev1.SecretArgs{
		Metadata:   b.metadata(),
		StringData: pulumi.ToSecret(data.ToStringMapOutput()).(pulumi.StringMapOutput),
	}, pulumi.Parent(b.parent))
	if err != nil {
		return err
	}
	b.before = append(b.before, secret)
	b.secretVersion = secret.Metadata.ResourceVersion().Elem()
	return nil
}

func (a *StackArgs) check() error {
	var problems []string
	refuse := func(broken bool, format string, args ...any) {
		if broken {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	refuse(inputs.Missing(a.Namespace), "namespace must be given")
	name := inputs.Text(a.Name)
	refuse(inputs.Missing(a.Name) || len(name) > maxName, "name %q must have 1 to %d characters", name, maxName)
	refuse(a.Spec.Stack == "", "spec.stack must be given")
	var sources []string
	for source, given := range map[string]bool{
		"program": a.Program != nil, "spec.programRef": a.Spec.ProgramRef != nil,
		"spec.fluxSource": a.Spec.FluxSource != nil, "spec.projectRepo": a.Spec.ProjectRepo != "",
	} {
		if given {
			sources = append(sources, source)
		}
	}
	slices.Sort(sources)
	refuse(len(sources) == 0, "a program must be given: program, or programRef, fluxSource or projectRepo in spec")
	refuse(len(sources) > 1, "%s exclude each other", strings.Join(sources, " and "))
	problems = append(problems, twice("config", keys(a.Config), keys(a.SecretConfig), keys(a.Spec.Config), keys(a.Spec.SecretRefs))...)
	problems = append(problems, twice("env", keys(a.Env), keys(a.SecretEnv), keys(a.Spec.EnvRefs))...)
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// twice returns a problem for each key that is in more than one place. Otherwise one value would silently override the
// other.
func twice(what string, places ...[]string) []string {
	var problems []string
	seen := map[string]bool{}
	for _, key := range slices.Concat(places...) {
		if seen[key] {
			problems = append(problems, fmt.Sprintf("%s %s is given twice", what, key))
		}
		seen[key] = true
	}
	return problems
}
