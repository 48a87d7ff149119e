// Package stackdefaults creates the mutating admission policy that fills in the fields that a team leaves out of a Stack.
package stackdefaults

import (
	"fmt"
	"strings"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/apiextensions"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/components/internal/component"
	"github.com/strata-platform/strata/handoff"
)

// Name is the name of the mutating policy that fills in the fields that a team leaves out of a Stack, and of its binding.
const Name = "strata-stack-defaults"

// Kinds of Kubernetes' mutating policies. Clusters of Since and later serve them in this version by default
// (k8s.io/apiserver, feature MutatingAdmissionPolicy).
const (
	Kind        = "MutatingAdmissionPolicy"
	BindingKind = "MutatingAdmissionPolicyBinding"
	Group       = "admissionregistration.k8s.io"
	Version     = "v1"
	// Since is the first minor version of Kubernetes 1 that serves the kinds.
	Since = 36
)

// New creates the policy that fills in the fields that a team leaves out of a Stack: the name of the Pulumi stack, the account,
// the context, the secrets provider, destroyOnFinalize and, under upstream's operator, the hop.Workspace. A cluster needs it once, after
// hop.NewPolicyKind, and it applies in every namespace of a hop. Pass the provider for the cluster in opts.
//
// Only an administrator may create such a policy, because it can change any object of the cluster. So it belongs to the
// hops and not to the repository of the policies that only refuse.
func New(ctx *pulumi.Context, name string, opts ...pulumi.ResourceOption) (*apiextensions.CustomResource, error) {
	policy, err := newObject(ctx, name, Kind, Spec(), opts)
	if err != nil {
		return nil, err
	}
	return newObject(ctx, name+"-binding", BindingKind, pulumi.Map{
		"policyName": policy.Metadata.Name().Elem(),
		// Without a TenantPolicy nothing is filled in, and the policy for Stacks refuses a new one.
		"paramRef": pulumi.Map{"name": pulumi.String(hop.PolicyName), "parameterNotFoundAction": pulumi.String("Allow")},
	}, opts)
}

// newObject creates an object named Name. The SDK has no types for its kinds.
func newObject(
	ctx *pulumi.Context, name, kind string, spec pulumi.Map, opts []pulumi.ResourceOption,
) (*apiextensions.CustomResource, error) {
	return apiextensions.NewCustomResource(ctx, name, &apiextensions.CustomResourceArgs{
		ApiVersion: pulumi.String(Group + "/" + Version),
		Kind:       pulumi.String(kind),
		Metadata: &metav1.ObjectMetaArgs{
			Name: pulumi.String(Name), Labels: component.Labels(),
			Annotations: pulumi.StringMap{"pulumi.com/deletionPropagationPolicy": pulumi.String("background")},
		},
		OtherFields: kubernetes.UntypedArgs{"spec": spec},
	}, opts...)
}

// Spec returns the spec of the policy of New. It is plain data, which encoding/json can write. With
// failurePolicy Fail, the API server rejects a Stack if the policy cannot be evaluated, instead of storing an incomplete one.
func Spec() pulumi.Map {
	var variables pulumi.Array
	for _, each := range append([][2]string{
		{"spec", `object.?spec.orValue(null) == null ? dyn({}) : dyn(object.spec)`},
		{"old", `request.operation == 'CREATE' ? dyn({}) : dyn(oldObject).?spec.orValue({})`},
		{"envRefs", orEmpty("envRefs")},
		{"configRef", orEmpty("configRef")},
		{"settings", fmt.Sprintf(`[%s, variables.configRef, %s, %s]`, orEmpty("config"), orEmpty("secrets"), orEmpty("secretsRef"))},
	}, workspaceVariables()...) {
		variables = append(variables, pulumi.Map{"name": pulumi.String(each[0]), "expression": pulumi.String(each[1])})
	}
	return pulumi.Map{
		"failurePolicy":      pulumi.String("Fail"),
		"reinvocationPolicy": pulumi.String("Never"),
		"paramKind":          pulumi.Map{"apiVersion": pulumi.String(hop.PolicyGroup + "/" + hop.PolicyVersion), "kind": pulumi.String(hop.PolicyKind)},
		"matchConstraints": pulumi.Map{
			"namespaceSelector": pulumi.Map{"matchExpressions": pulumi.Array{
				pulumi.Map{"key": pulumi.String(hop.TeamLabel), "operator": pulumi.String("Exists")},
			}},
			"resourceRules": pulumi.Array{pulumi.Map{
				"apiGroups": pulumi.ToStringArray([]string{"pulumi.com"}), "apiVersions": pulumi.ToStringArray([]string{"v1"}),
				"operations": pulumi.ToStringArray([]string{"CREATE", "UPDATE"}), "resources": pulumi.ToStringArray([]string{"stacks"}),
			}},
		},
		// A Stack from before the policy stays as it is until its spec changes, whatever else the operator or Flux writes.
		"matchConditions": pulumi.Array{pulumi.Map{
			"name":       pulumi.String("something-new"),
			"expression": pulumi.String(`request.operation == 'CREATE' || object.?spec != oldObject.?spec`),
		}},
		"variables": variables,
		"mutations": pulumi.Array{pulumi.Map{
			"patchType": pulumi.String("JSONPatch"),
			"jsonPatch": pulumi.Map{"expression": pulumi.String(defaults())},
		}},
	}
}

// orEmpty returns an expression for a map of the spec: the empty map if the field is missing or null.
func orEmpty(field string) string {
	return fmt.Sprintf(`(variables.spec.?%[1]s.orValue(null) == null ? dyn({}) : variables.spec.%[1]s)`, field)
}

// defaults returns the expression for the operations of a JSON Patch that fill in what a Stack leaves out.
func defaults() string {
	environment, settings := quoted(handoff.SecretKeys()), quoted(handoff.SettingKeys())
	unset := settings + `.filter(key, !variables.settings.exists(given, ('` + handoff.SettingNamespace + `:' + key) in given))`
	missing := environment + `.filter(key, !(key in variables.envRefs))`
	parts := []string{
		when(`object.?spec.orValue(null) == null`, `/spec`, `{}`),
		// A Stack that loses its name keeps the old one: under another name, the operator would leave the resources behind.
		when(`variables.spec.?stack.orValue('') == '' && (variables.old.?stack.hasValue() || has(object.metadata.name))`,
			`/spec/stack`, `variables.old.?stack.orValue(object.metadata.?name.orValue(''))`),
		when(`variables.spec.?serviceAccountName.orValue('') == '' && size(params.spec.stackAccounts) > 0`,
			`/spec/serviceAccountName`, `params.spec.stackAccounts[0]`),
		// The default is for a new Stack only. A Stack that had no value keeps its resources when it is deleted, and a
		// change of another field must not make that deletion destroy them.
		when(`!variables.spec.?destroyOnFinalize.hasValue() && (request.operation == 'CREATE' || variables.old.?destroyOnFinalize.hasValue())`,
			`/spec/destroyOnFinalize`, `variables.old.?destroyOnFinalize.orValue(true)`),
		when(`has(params.spec.context.secretsProvider) && variables.spec.?secretsProvider.orValue('') == ''`,
			`/spec/secretsProvider`, `params.spec.context.secretsProvider`),
		when(`variables.spec.?envRefs.orValue(null) == null`, `/spec/envRefs`, `{}`),
		missing + `.map(key, JSONPatch{op: 'add', path: '/spec/envRefs/' + key, value: ` +
			`{'type': dyn('Secret'), 'secret': dyn({'name': params.spec.context.name, 'key': dyn(key)})}})`,
		when(`variables.spec.?configRef.orValue(null) == null && size(`+unset+`) > 0`, `/spec/configRef`, `{}`),
		unset + `.map(key, JSONPatch{op: 'add', path: '/spec/configRef/` + handoff.SettingNamespace + `:' + key, value: ` +
			`{'name': params.spec.context.name, 'key': dyn(key)}})`,
	}
	return strings.Join(append(parts, workspaceDefaults()...), " +\n")
}

// when returns an expression for an operation that sets the value at a path if a condition holds.
func when(condition, path, value string) string {
	return fmt.Sprintf(`(%s ? [JSONPatch{op: 'add', path: '%s', value: %s}] : [])`, condition, path, value)
}

// quoted returns a CEL list of texts.
func quoted(texts []string) string { return "['" + strings.Join(texts, "', '") + "']" }
