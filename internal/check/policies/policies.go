// Package policies evaluates the admission policies of layer 3, and the policy that fills in Stacks, without an API server.
//
// It compiles and evaluates the policies with the API server's own library. The policies come from the manifests in this
// program; their parameters are the spec of a TenantPolicy.
package policies

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/components/hop/stackdefaults"
	"github.com/strata-platform/strata/sync"
)

// Policies are the policies of a team's namespace.
type Policies struct {
	namespace *corev1.Namespace
	user      user.Info
	params    *unstructured.Unstructured
	refusing  []*refusing
	filling   *filling
}

// Team is a team whose objects the policies judge.
type Team struct {
	// Namespace is the team's namespace, and Account the account in it that applies the objects.
	Namespace, Account string
	// Policy is the spec of the team's TenantPolicy.
	Policy map[string]any
}

// New returns the policies of layer 3 with the parameters of a team.
func New(team Team) (*Policies, error) {
	p := &Policies{
		namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: team.Namespace, Labels: map[string]string{hop.TeamLabel: team.Account, corev1.LabelMetadataName: team.Namespace},
		}},
		user: &user.DefaultInfo{
			Name:   "system:serviceaccount:" + team.Namespace + ":" + team.Account,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + team.Namespace, "system:authenticated"},
		},
		params: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": hop.PolicyGroup + "/" + hop.PolicyVersion, "kind": hop.PolicyKind,
			"metadata": map[string]any{"name": hop.PolicyName, "namespace": team.Namespace}, "spec": team.Policy,
		}},
	}
	if err := p.readRefusing(); err != nil {
		return nil, fmt.Errorf("read the policies of layer 3 in this program: %w", err)
	}
	encoded, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": stackdefaults.Name}, "spec": stackdefaults.Spec()})
	if err != nil {
		return nil, fmt.Errorf("read the policy %s: %w", stackdefaults.Name, err)
	}
	p.filling = &filling{}
	if err := json.Unmarshal(encoded, &p.filling.policy); err != nil {
		return nil, fmt.Errorf("read the policy %s: %w", stackdefaults.Name, err)
	}
	return p, nil
}

// readRefusing reads each policy of layer 3 with its binding for create requests.
func (p *Policies) readRefusing() error {
	names, err := fs.Glob(sync.Files, "policies/*.yaml")
	if err != nil {
		return err
	}
	bindings := map[string]string{}
	for _, name := range names {
		content, err := fs.ReadFile(sync.Files, name)
		if err != nil {
			return err
		}
		documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content))
		for {
			var raw json.RawMessage
			if err := documents.Decode(&raw); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			var about metav1.TypeMeta
			if err := json.Unmarshal(raw, &about); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			switch about.Kind {
			case "ValidatingAdmissionPolicy":
				found := &refusing{}
				err = json.Unmarshal(raw, &found.policy)
				p.refusing = append(p.refusing, found)
			case "ValidatingAdmissionPolicyBinding":
				var binding admissionv1.ValidatingAdmissionPolicyBinding
				if err = json.Unmarshal(raw, &binding); err == nil && creates(binding.Spec.MatchResources) {
					bindings[binding.Spec.PolicyName] = binding.Name
				}
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	for _, each := range p.refusing {
		each.binding = bindings[each.policy.Name]
	}
	p.refusing = slices.DeleteFunc(p.refusing, func(each *refusing) bool { return each.binding == "" })
	return nil
}

// creates reports whether a binding is for create requests.
func creates(match *admissionv1.MatchResources) bool {
	return match == nil || len(match.ResourceRules) == 0 || slices.ContainsFunc(match.ResourceRules, func(rule admissionv1.NamedRuleWithOperations) bool {
		return slices.Contains(rule.Operations, admissionv1.Create) || slices.Contains(rule.Operations, admissionv1.OperationAll)
	})
}

// authorize denies everything: the only question of the policies is whether the user may change the TenantPolicy, and no
// team may.
func authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

// request is the creation of an object.
func (p *Policies) request(object *unstructured.Unstructured, resource schema.GroupVersionResource) *admission.VersionedAttributes {
	attributes := admission.NewAttributesRecord(object, nil, object.GroupVersionKind(), p.namespace.Name, object.GetName(), resource, "",
		admission.Create, &metav1.CreateOptions{}, true, p.user)
	return &admission.VersionedAttributes{Attributes: attributes, VersionedObject: object, VersionedKind: object.GroupVersionKind()}
}

func matches(match *admissionv1.MatchResources, request admission.Attributes) bool {
	return slices.ContainsFunc(match.ResourceRules, func(rule admissionv1.NamedRuleWithOperations) bool {
		matcher := rules.Matcher{Rule: rule.RuleWithOperations, Attr: request}
		return matcher.Matches()
	})
}

// Prepare compiles the policies for the kinds of a group, which the other methods otherwise do when they need them. It may
// run at the same time as the other methods.
func (p *Policies) Prepare(group string) {
	p.filling.compile()
	for _, each := range p.refusing {
		if slices.ContainsFunc(each.policy.Spec.MatchConstraints.ResourceRules, func(rule admissionv1.NamedRuleWithOperations) bool {
			return slices.Contains(rule.APIGroups, group)
		}) {
			each.compiled()
		}
	}
}

// Denial is the refusal of an object by a policy.
type Denial struct {
	// Policy and Binding are the names of the policy and its binding.
	Policy, Binding string
	// Message is the policy's message.
	Message string
}

// Error returns the denial in the words of the API server.
func (d Denial) Error() string {
	return fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s", d.Policy, d.Binding, d.Message)
}

// Judge returns the refusals of a new object by all policies.
func (p *Policies) Judge(ctx context.Context, object *unstructured.Unstructured, resource schema.GroupVersionResource) []Denial {
	request := p.request(object, resource)
	var all []Denial
	for _, each := range p.refusing {
		if !matches(each.policy.Spec.MatchConstraints, request) {
			continue
		}
		result := each.compiled().Validate(ctx, resource, request, p.params, p.namespace, celconfig.RuntimeCELCostBudget, authorizer.AuthorizerFunc(authorize))
		for _, decision := range result.Decisions {
			if decision.Action == validating.ActionDeny {
				all = append(all, Denial{each.policy.Name, each.binding, decision.Message})
			}
		}
	}
	return all
}

// Fill fills in the fields that a team leaves out of an object, as the cluster does.
func (p *Policies) Fill(ctx context.Context, object *unstructured.Unstructured, resource schema.GroupVersionResource) error {
	request := p.request(object, resource)
	if !matches(p.filling.policy.Spec.MatchConstraints, request) {
		return nil
	}
	authorize := authorizer.AuthorizerFunc(authorize)
	p.filling.compile()
	if matched := p.filling.matcher.Match(ctx, request, p.params, authorize); matched.Error != nil || !matched.Matches {
		return matched.Error
	}
	for _, patcher := range p.filling.patchers {
		// The context holds the values of the policy's variables.
		made, err := patcher.Patch(p.filling.compiler.CreateContext(ctx), patch.Request{
			MatchedResource: resource, VersionedAttributes: request, ObjectInterfaces: interfaces(),
			OptionalVariables: cel.OptionalVariableBindings{VersionedParams: p.params, Authorizer: authorize}, Namespace: p.namespace,
		}, celconfig.RuntimeCELCostBudget)
		if err != nil {
			return fmt.Errorf("policy %s: %w", stackdefaults.Name, err)
		}
		filled, ok := made.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("policy %s made a %T of an object", stackdefaults.Name, made)
		}
		object.Object = filled.Object
	}
	return nil
}
