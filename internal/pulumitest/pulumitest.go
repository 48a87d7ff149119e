// Package pulumitest runs Pulumi programs against a recording engine, for tests of components and layers.
package pulumitest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/internals"
)

// Resource is a resource that a program registered.
type Resource struct {
	// Type and Name are the type token and name from the program.
	Type, Name string
	// URN is the resource's own URN. Parent and Provider are empty if the program set none.
	URN, Parent, Provider string
	// Custom is false for components.
	Custom bool
	// Inputs are the inputs from the program, with secrets marked.
	Inputs resource.PropertyMap
	// Dependencies are the URNs of the resources that this one depends on, sorted.
	Dependencies []string
	// Protect, DeletedWith and SecretOutputs are the resource's options of those names.
	Protect       bool
	DeletedWith   string
	SecretOutputs []string
	// DeleteTimeout is the timeout of a deletion; empty if the program sets none.
	DeleteTimeout string
}

// DependsOn reports whether the resource depends on the other one.
func (r Resource) DependsOn(other Resource) bool {
	return slices.Contains(r.Dependencies, other.URN)
}

// Output is an output of a stack.
type Output struct {
	// Value is the plain value.
	Value any
	// Secret reports whether the engine would encrypt the value.
	Secret bool
}

// Engine answers a program's calls and records them. An Engine serves one Run.
type Engine struct {
	// Outputs computes a resource's outputs beyond its inputs, by type token.
	Outputs map[string]func(args pulumi.MockResourceArgs) resource.PropertyMap
	// Read holds the properties of an existing resource that the program reads, by type token.
	Read map[string]resource.PropertyMap
	// Invoked holds the results of functions that the program invokes, by token.
	Invoked map[string]resource.PropertyMap
	// Config is the stack's configuration; its keys omit the project's name. Secrets lists the secret keys.
	Config  map[string]string
	Secrets []string
	// Preview runs the program as a preview: no resource has an ID yet.
	Preview bool

	project, stack string

	mu        sync.Mutex
	resources []Resource
	outputs   map[string]Output
}

// Run runs program as the named stack of the named project and returns the program's error.
func (e *Engine) Run(project, stack string, program pulumi.RunFunc) error {
	e.project, e.stack, e.outputs = project, stack, map[string]Output{}
	return pulumi.RunErr(func(ctx *pulumi.Context) error {
		if err := program(ctx); err != nil {
			return err
		}
		for name, value := range ctx.GetCurrentExportMap() {
			if err := e.record(ctx.Context(), name, value); err != nil {
				return err
			}
		}
		return nil
	}, pulumi.WithMocks(project, stack, e), func(info *pulumi.RunInfo) {
		info.DryRun = e.Preview
		info.Config = map[string]string{}
		for key, value := range e.Config {
			info.Config[project+":"+key] = value
		}
		for _, key := range e.Secrets {
			info.ConfigSecretKeys = append(info.ConfigSecretKeys, project+":"+key)
		}
	})
}

// record waits for an output of the stack. It does not record an unknown output.
func (e *Engine) record(ctx context.Context, name string, value pulumi.Input) error {
	result, err := internals.UnsafeAwaitOutput(ctx, pulumi.ToOutput(value))
	if err != nil || !result.Known {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.outputs[name] = Output{Value: result.Value, Secret: result.Secret}
	return nil
}

// NewResource implements pulumi.MockResourceMonitor.
func (e *Engine) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	if args.ReadRPC != nil {
		values, found := e.Read[args.TypeToken]
		if !found {
			return "", nil, fmt.Errorf("nothing to read for %s %s", args.TypeToken, args.Name)
		}
		return args.ID, values, nil
	}
	request := args.RegisterRPC
	e.mu.Lock()
	e.resources = append(e.resources, Resource{
		Type: args.TypeToken, Name: args.Name, URN: e.urn(args), Parent: request.GetParent(),
		Provider: args.Provider, Custom: args.Custom, Inputs: args.Inputs,
		Dependencies: slices.Sorted(slices.Values(request.GetDependencies())),
		Protect:      request.GetProtect(), DeletedWith: request.GetDeletedWith(),
		SecretOutputs: request.GetAdditionalSecretOutputs(),
		DeleteTimeout: request.GetCustomTimeouts().GetDelete(),
	})
	e.mu.Unlock()

	state := resource.PropertyMap{}
	maps.Copy(state, args.Inputs)
	if compute, found := e.Outputs[args.TypeToken]; found {
		maps.Copy(state, compute(args))
	}
	if !args.Custom || e.Preview {
		return "", state, nil
	}
	return args.Name + "-id", state, nil
}

// Call implements pulumi.MockResourceMonitor. It fails for functions that are not in Invoked.
func (e *Engine) Call(args pulumi.MockCallArgs) (resource.PropertyMap, error) {
	if result, found := e.Invoked[args.Token]; found {
		return result, nil
	}
	return nil, fmt.Errorf("unexpected invoke of %s", args.Token)
}

func (e *Engine) urn(args pulumi.MockResourceArgs) string {
	parent := tokens.Type("")
	if urn := resource.URN(args.RegisterRPC.GetParent()); urn != "" && urn.QualifiedType() != resource.RootStackType {
		parent = urn.QualifiedType()
	}
	return string(resource.NewURN(tokens.QName(e.stack), tokens.PackageName(e.project), parent,
		tokens.Type(args.TypeToken), args.Name))
}

// All returns every registered resource, in no particular order.
func (e *Engine) All() []Resource {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.resources)
}

// OfType returns the resources of a type, sorted by name.
func (e *Engine) OfType(typeToken string) []Resource {
	var found []Resource
	for _, r := range e.All() {
		if r.Type == typeToken {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b Resource) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// Get returns the one resource of that type and name, and fails the test if there is none.
func (e *Engine) Get(t testing.TB, typeToken, name string) Resource {
	t.Helper()
	var names []string
	for _, r := range e.OfType(typeToken) {
		if r.Name == name {
			return r
		}
		names = append(names, r.Name)
	}
	t.Fatalf("no %s named %s was registered, only: %s", typeToken, name, strings.Join(names, ", "))
	return Resource{}
}

// Output returns an output of the stack, and fails the test if the output is missing or unknown.
func (e *Engine) Output(t testing.TB, name string) Output {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	output, found := e.outputs[name]
	if !found {
		t.Fatalf("the stack has no known output %s", name)
	}
	return output
}

// Plain returns a property without its secret wrappers, and whether it had one. The parts of the path are keys of maps,
// or indexes of lists as decimal numbers.
func Plain(t testing.TB, properties resource.PropertyMap, path string) (value any, secret bool) {
	t.Helper()
	parsed, err := resource.ParsePropertyPath(path)
	if err != nil {
		t.Fatal(err)
	}
	current := resource.NewProperty(properties)
	for _, part := range parsed {
		for current.IsSecret() {
			secret, current = true, current.SecretValue().Element
		}
		next, found := resource.PropertyPath{part}.Get(current)
		if !found {
			t.Fatalf("there is no property %s, only %v", path, properties.Mappable())
		}
		current = next
	}
	for current.IsSecret() {
		secret, current = true, current.SecretValue().Element
	}
	return current.Mappable(), secret
}
