// Package stack makes a Stack of the Pulumi Kubernetes Operator, with its Program, and waits until the operator has
// brought it up.
//
//	shop, err := stack.New(ctx, "shop", &stack.Args{
//		Namespace: pulumi.String("team-web"), Name: "shop",
//		Program: &pulumiv1.ProgramSpec{Resources: map[string]pulumiv1.Resource{"password": {Type: "random:RandomPassword"}}},
//		Spec:    pulumiv1.StackSpec{Stack: "dev", ServiceAccountName: "web", DestroyOnFinalize: true},
//		Config:  pulumi.Map{"instance": instance.Name},
//	}, pulumi.Provider(cluster))
//	// shop.Outputs are the outputs of the stack inside
//
// The objects are those of package operator/api/v1, typed as there, and are applied by server-side apply. What only
// exists while the program runs, such as an output of another resource, comes by Config, Env and their secret
// counterparts.
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

	"github.com/strata-platform/strata/components/internal/inputs"
	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"
)

// Type is the component's type token.
const Type = "strata:components:Stack"

// DefaultTimeout is how long to wait for the operator when Args say nothing else.
const DefaultTimeout = "10m"

// maxName is the limit that the operator's API sets.
const maxName = 42

// Args describe a Stack.
type Args struct {
	// Namespace is where the Stack and all that belongs to it go. Required.
	Namespace pulumi.StringInput
	// Name is that of the Stack, of its Program and of the Secret with SecretConfig and SecretEnv. Required; at most 42
	// characters.
	Name string
	// Labels are set on all of these.
	Labels pulumi.StringMap

	// Spec is the Stack's specification. Its Stack is required, and one source: Program, or one of the source fields of Spec.
	Spec pulumiv1.StackSpec
	// Program is a Pulumi YAML program, made as an object of its own that Spec.ProgramRef then names; nil means that Spec
	// says where the program is.
	Program *pulumiv1.ProgramSpec

	// Config adds keys to Spec.Config. Whoever may read the Stack reads their values.
	Config pulumi.Map
	// SecretConfig adds keys to Spec.SecretRefs, whose values are kept in a Secret.
	SecretConfig pulumi.StringMap
	// Env adds variables to Spec.EnvRefs. Whoever may read the Stack reads their values.
	Env pulumi.StringMap
	// SecretEnv adds variables to Spec.EnvRefs, whose values are kept in the same Secret as those of SecretConfig.
	SecretEnv pulumi.StringMap

	// NoWait goes on as soon as the objects exist. Otherwise New waits until the operator has run what they say, and fails
	// where that has not succeeded within Timeout: the Ready condition of the Stack says why.
	NoWait bool
	// Timeout is how long to wait at most, as a duration such as 15m; empty means DefaultTimeout.
	Timeout string
}

// Stack is a Stack with its Program.
type Stack struct {
	pulumi.ResourceState

	// Namespace and Name name the Stack, known once it is ready, or with NoWait once it exists.
	Namespace pulumi.StringOutput `pulumi:"namespace"`
	Name      pulumi.StringOutput `pulumi:"name"`
	// Outputs are those of the stack inside, as they were when New last changed something: an update that the operator makes
	// by itself afterwards is seen after a refresh. In place of a secret stands pulumiv1.SecretOutput. Empty with NoWait.
	Outputs pulumi.MapOutput `pulumi:"outputs"`
}

// New makes the Stack, its Program and its Secret. The provider for the cluster comes by opts.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Stack, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("make Stack %s: %w", name, err)
	}
	stack := &Stack{}
	inputs := pulumi.Map{"namespace": args.Namespace, "name": pulumi.String(args.Name), "stack": pulumi.String(args.Spec.Stack)}
	if err := ctx.RegisterComponentResourceV2(Type, name, inputs, stack, opts...); err != nil {
		return nil, fmt.Errorf("make Stack %s: %w", name, err)
	}
	b := &builder{ctx: ctx, name: name, args: args, parent: stack, secretVersion: pulumi.String("")}
	for _, step := range []func() error{b.program, b.secret} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("make Stack %s: %w", name, err)
		}
	}
	made, err := b.stack()
	if err != nil {
		return nil, fmt.Errorf("make Stack %s: %w", name, err)
	}
	stack.Namespace, stack.Name = made.Metadata.Namespace().Elem(), made.Metadata.Name().Elem()
	stack.Outputs = made.outputs()
	return stack, ctx.RegisterResourceOutputs(stack, pulumi.Map{
		"namespace": stack.Namespace, "name": stack.Name, "outputs": stack.Outputs,
	})
}

// builder carries what the steps of New share.
type builder struct {
	ctx    *pulumi.Context
	name   string
	args   *Args
	parent pulumi.Resource

	// before must be there for as long as the Stack is: destroying it takes its program and its secrets.
	before []pulumi.Resource
	// secretVersion changes with the Secret. A digest of its values would do so, too, but weak ones could be guessed by it.
	secretVersion pulumi.StringInput
}

func (b *builder) metadata() *metav1.ObjectMetaArgs {
	return &metav1.ObjectMetaArgs{Namespace: b.args.Namespace.ToStringOutput().ToStringPtrOutput(), Name: pulumi.String(b.args.Name), Labels: b.args.Labels}
}

// secret keeps the values that must not be read in the Stack.
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

func (a *Args) check() error {
	var problems []string
	refuse := func(broken bool, format string, args ...any) {
		if broken {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	refuse(a.Namespace == nil, "namespace must be given")
	refuse(a.Name == "" || len(a.Name) > maxName, "name %q must have 1 to %d characters", a.Name, maxName)
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

// twice names what stands in more than one place, of which one would win in silence.
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
