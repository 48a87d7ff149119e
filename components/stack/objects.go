package stack

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"
)

// Annotations that the Kubernetes provider reads.
const (
	// waitAnnotation lists the conditions to wait for.
	waitAnnotation = "pulumi.com/waitFor"
	// propagationAnnotation sets the deletion propagation policy. By default Kubernetes deletes dependents first: that
	// would delete the upstream operator's workspace, which the operator needs to destroy the Stack's resources.
	propagationAnnotation = "pulumi.com/deletionPropagationPolicy"
)

// object is a custom resource of the operator, as the Kubernetes provider returns it.
type object struct {
	pulumi.CustomResourceState

	Metadata metav1.ObjectMetaOutput `pulumi:"metadata"`
	Status   pulumi.MapOutput        `pulumi:"status"`
}

// outputs returns the stack's outputs from the status. The status is missing until the operator has reconciled the Stack.
func (o *object) outputs() pulumi.MapOutput {
	return o.Status.ApplyT(func(status map[string]any) map[string]any {
		outputs, _ := status["outputs"].(map[string]any)
		return outputs
	}).(pulumi.MapOutput)
}

func (b *builder) register(kind, part string, properties pulumi.Map, opts ...pulumi.ResourceOption) (*object, error) {
	group := pulumiv1.GroupVersion.String()
	properties["apiVersion"], properties["kind"] = pulumi.String(group), pulumi.String(kind)
	made := &object{}
	err := b.ctx.RegisterResource(fmt.Sprintf("kubernetes:%s:%s", group, kind), b.name+"-"+part, properties, made,
		append(opts, pulumi.Parent(b.parent))...)
	return made, err
}

func (b *builder) program() error {
	if b.args.Program == nil {
		return nil
	}
	spec, err := asInputs(b.args.Program)
	if err != nil {
		return fmt.Errorf("encode the program: %w", err)
	}
	program, err := b.register(pulumiv1.ProgramKind, "program", pulumi.Map{"metadata": b.metadata(), "program": spec})
	b.before = append(b.before, program)
	return err
}

func (b *builder) stack() (*object, error) {
	spec, err := b.spec()
	if err != nil {
		return nil, err
	}
	metadata := b.metadata()
	if metadata.Annotations, err = b.annotations(); err != nil {
		return nil, err
	}
	timeout := b.args.Timeout
	if timeout == "" {
		timeout = DefaultTimeout
	}
	return b.register(pulumiv1.StackKind, "stack", pulumi.Map{"metadata": metadata, "spec": spec},
		pulumi.DependsOn(b.before),
		pulumi.Timeouts(&pulumi.CustomTimeouts{Create: timeout, Update: timeout, Delete: timeout}))
}

// annotations requests a run with the current program and secrets, because a change of them does not change the Stack
// itself. It also makes the provider wait for the end of that run: the Ready condition alone could be the result of an
// earlier run.
func (b *builder) annotations() (pulumi.StringMap, error) {
	program, err := json.Marshal(b.args.Program)
	if err != nil {
		return nil, fmt.Errorf("encode the program: %w", err)
	}
	sum := sha256.Sum256(program)
	request := pulumi.Sprintf("%x-%s", sum[:8], b.secretVersion)
	annotations := pulumi.StringMap{
		pulumiv1.ReconcileRequestAnnotation: request, propagationAnnotation: pulumi.String("background"),
	}
	if !b.args.NoWait {
		annotations[waitAnnotation] = pulumi.Sprintf(`["jsonpath={.status.observedReconcileRequest}=%s","condition=Ready"]`, request)
	}
	return annotations, nil
}

// spec returns the caller's spec with Config, SecretConfig, Env and SecretEnv merged into it.
func (b *builder) spec() (pulumi.Map, error) {
	all, err := asInputs(b.args.Spec)
	if err != nil {
		return nil, fmt.Errorf("encode the spec: %w", err)
	}
	if b.args.Program != nil {
		all["programRef"] = pulumi.Map{"name": b.args.Name}
	}
	config, refs, env := part(all, "config"), part(all, "secretsRef"), part(all, "envRefs")
	maps.Copy(config, b.args.Config)
	for key := range b.args.SecretConfig {
		refs[key] = b.fromSecret(secretConfigKey(key))
	}
	for name, value := range b.args.Env {
		env[name] = pulumi.Map{"type": pulumi.String(pulumiv1.ResourceSelectorLiteral), "literal": pulumi.Map{"value": value}}
	}
	for name := range b.args.SecretEnv {
		env[name] = b.fromSecret(secretEnvKey(name))
	}
	for name, entries := range map[string]pulumi.Map{"config": config, "secretsRef": refs, "envRefs": env} {
		if len(entries) > 0 {
			all[name] = entries
		}
	}
	return all, nil
}

// fromSecret returns a reference to a key of the Secret.
func (b *builder) fromSecret(key string) pulumi.Map {
	return pulumi.Map{"type": pulumi.String(pulumiv1.ResourceSelectorSecret), "secret": pulumi.Map{
		"name": b.args.Name, "key": pulumi.String(key),
	}}
}

// secretConfigKey returns the key of the Secret for a config key. Config keys may contain a colon, keys of a Secret may
// not.
func secretConfigKey(key string) string { return "config." + strings.ReplaceAll(key, ":", ".") }

func secretEnvKey(name string) string { return "env." + name }

func part(of pulumi.Map, name string) pulumi.Map {
	if found, ok := of[name].(pulumi.Map); ok {
		return found
	}
	return pulumi.Map{}
}

// asInputs converts a typed object to Pulumi values by way of its JSON, which is the form that the API server receives.
func asInputs(typed any) (pulumi.Map, error) {
	content, err := json.Marshal(typed)
	if err != nil {
		return nil, err
	}
	var plain map[string]any
	if err := json.Unmarshal(content, &plain); err != nil {
		return nil, err
	}
	return asInput(plain).(pulumi.Map), nil
}

func asInput(value any) pulumi.Input {
	switch value := value.(type) {
	case map[string]any:
		fields := pulumi.Map{}
		for name, field := range value {
			fields[name] = asInput(field)
		}
		return fields
	case []any:
		items := pulumi.Array{}
		for _, item := range value {
			items = append(items, asInput(item))
		}
		return items
	case string:
		return pulumi.String(value)
	case bool:
		return pulumi.Bool(value)
	case float64:
		return pulumi.Float64(value)
	}
	return nil
}
