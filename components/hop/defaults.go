package hop

import (
	"fmt"
	"strings"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/apiextensions"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/handoff"
)

// StackDefaults is the name of the mutating policy that fills in the fields that a team leaves out of a Stack, and of its
// binding.
const StackDefaults = "strata-stack-defaults"

// Kinds of Kubernetes' mutating policies. Clusters of DefaultsSince and later serve them in this version by default
// (k8s.io/apiserver, feature MutatingAdmissionPolicy).
const (
	DefaultsKind        = "MutatingAdmissionPolicy"
	DefaultsBindingKind = "MutatingAdmissionPolicyBinding"
	DefaultsGroup       = "admissionregistration.k8s.io"
	DefaultsVersion     = "v1"
	// DefaultsSince is the first minor version of Kubernetes 1 that serves the kinds.
	DefaultsSince = 36
)

// NewStackDefaults creates the policy that fills in the fields that a team leaves out of a Stack: the name of the Pulumi
// stack, the account, the context and destroyOnFinalize. A cluster needs it once, after NewPolicyKind, and it applies in
// every namespace of a hop. Pass the provider for the cluster in opts.
//
// Only an administrator may create such a policy, because it can change any object of the cluster. So it belongs to the
// hops and not to the repository of the policies that only refuse.
func NewStackDefaults(ctx *pulumi.Context, name string, opts ...pulumi.ResourceOption) (*apiextensions.CustomResource, error) {
	policy, err := newAdmissionObject(ctx, name, DefaultsKind, defaultsSpec(), opts)
	if err != nil {
		return nil, err
	}
	return newAdmissionObject(ctx, name+"-binding", DefaultsBindingKind, pulumi.Map{
		"policyName": policy.Metadata.Name().Elem(),
		// Without a TenantPolicy nothing is filled in, and the policy for Stacks refuses a new one.
		"paramRef": pulumi.Map{"name": pulumi.String(PolicyName), "parameterNotFoundAction": pulumi.String("Allow")},
	}, opts)
}

// newAdmissionObject creates an object named StackDefaults. The SDK has no types for its kinds.
func newAdmissionObject(
	ctx *pulumi.Context, name, kind string, spec pulumi.Map, opts []pulumi.ResourceOption,
) (*apiextensions.CustomResource, error) {
	return apiextensions.NewCustomResource(ctx, name, &apiextensions.CustomResourceArgs{
		ApiVersion: pulumi.String(DefaultsGroup + "/" + DefaultsVersion),
		Kind:       pulumi.String(kind),
		Metadata: &metav1.ObjectMetaArgs{
			Name: pulumi.String(StackDefaults), Labels: labels(),
			Annotations: pulumi.StringMap{"pulumi.com/deletionPropagationPolicy": pulumi.String("background")},
		},
		OtherFields: kubernetes.UntypedArgs{"spec": spec},
	}, opts...)
}

// defaultsSpec returns the spec of the policy. With failurePolicy Fail, the API server rejects a Stack if the policy cannot be
// evaluated, instead of storing an incomplete one.
func defaultsSpec() pulumi.Map {
	var variables pulumi.Array
	for _, each := range [][2]string{
		{"spec", `object.?spec.orValue(null) == null ? dyn({}) : dyn(object.spec)`},
		{"old", `request.operation == 'CREATE' ? dyn({}) : dyn(oldObject).?spec.orValue({})`},
		{"envRefs", orEmpty("envRefs")},
		{"configRef", orEmpty("configRef")},
		{"settings", fmt.Sprintf(`[%s, variables.configRef, %s, %s]`, orEmpty("config"), orEmpty("secrets"), orEmpty("secretsRef"))},
	} {
		variables = append(variables, pulumi.Map{"name": pulumi.String(each[0]), "expression": pulumi.String(each[1])})
	}
	return pulumi.Map{
		"failurePolicy":      pulumi.String("Fail"),
		"reinvocationPolicy": pulumi.String("Never"),
		"paramKind":          pulumi.Map{"apiVersion": pulumi.String(PolicyGroup + "/" + PolicyVersion), "kind": pulumi.String(PolicyKind)},
		"matchConstraints": pulumi.Map{
			"namespaceSelector": pulumi.Map{"matchExpressions": pulumi.Array{
				pulumi.Map{"key": pulumi.String(TeamLabel), "operator": pulumi.String("Exists")},
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
		when(`variables.spec.?envRefs.orValue(null) == null`, `/spec/envRefs`, `{}`),
		missing + `.map(key, JSONPatch{op: 'add', path: '/spec/envRefs/' + key, value: ` +
			`{'type': dyn('Secret'), 'secret': dyn({'name': params.spec.context.name, 'key': dyn(key)})}})`,
		when(`variables.spec.?configRef.orValue(null) == null && size(`+unset+`) > 0`, `/spec/configRef`, `{}`),
		unset + `.map(key, JSONPatch{op: 'add', path: '/spec/configRef/` + handoff.SettingNamespace + `:' + key, value: ` +
			`{'name': params.spec.context.name, 'key': dyn(key)}})`,
	}
	return strings.Join(parts, " +\n")
}

// when returns an expression for an operation that sets the value at a path if a condition holds.
func when(condition, path, value string) string {
	return fmt.Sprintf(`(%s ? [JSONPatch{op: 'add', path: '%s', value: %s}] : [])`, condition, path, value)
}

// quoted returns a CEL list of texts.
func quoted(texts []string) string { return "['" + strings.Join(texts, "', '") + "']" }
