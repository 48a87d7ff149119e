package platform

import (
	"fmt"

	admissionv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/admissionregistration/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop"
)

// HopGuard is the name of the policy that keeps what hops make, and of its binding.
const HopGuard = "strata-hops"

// ofHop tells whether what is written, or what is there, is a hop's: neither taking the label off nor putting it on
// goes around the rule.
const ofHop = `[object, oldObject].exists(o, o != null && has(o.metadata.labels) && '` + hop.Label + `' in o.metadata.labels)`

// ofAccount tells whether it is an account of the namespace that asks.
const ofAccount = `request.userInfo.username.startsWith('system:serviceaccount:' + request.namespace + ':')`

// isToken tells whether what is written has Kubernetes put a token of an account into it, which never expires.
const isToken = `dyn(object) != null && dyn(object).?type.orValue('') == 'kubernetes.io/service-account-token'`

// guardHops has the API server refuse a team's accounts to change what its hop made. A team writes Secrets and ConfigMaps
// of its own, and RBAC cannot except some of a kind by their names: what is created has no name yet, and no rule denies.
// It refuses them tokens that are Secrets, too: whoever may write Secrets could take any account of the namespace by them.
// Whoever is not of the namespace, layer 2 and Kubernetes' own controllers among them, goes on as its rights say.
func guardHops(ctx *pulumi.Context, contact string, opts ...pulumi.ResourceOption) (pulumi.Resource, error) {
	policy, err := admissionv1.NewValidatingAdmissionPolicy(ctx, "hop-guard", &admissionv1.ValidatingAdmissionPolicyArgs{
		Metadata: clusterMetadata(HopGuard),
		Spec: &admissionv1.ValidatingAdmissionPolicySpecArgs{
			FailurePolicy: pulumi.String("Fail"),
			MatchConstraints: &admissionv1.MatchResourcesArgs{
				NamespaceSelector: &metav1.LabelSelectorArgs{MatchExpressions: metav1.LabelSelectorRequirementArray{
					&metav1.LabelSelectorRequirementArgs{Key: pulumi.String(hop.TeamLabel), Operator: pulumi.String("Exists")},
				}},
				ResourceRules: admissionv1.NamedRuleWithOperationsArray{&admissionv1.NamedRuleWithOperationsArgs{
					ApiGroups:   pulumi.ToStringArray([]string{""}),
					ApiVersions: pulumi.ToStringArray([]string{"v1"}),
					Operations:  pulumi.ToStringArray([]string{"CREATE", "UPDATE", "DELETE"}),
					Resources:   pulumi.ToStringArray([]string{"secrets", "configmaps", "serviceaccounts"}),
				}},
			},
			MatchConditions: admissionv1.MatchConditionArray{&admissionv1.MatchConditionArgs{
				Name: pulumi.String("of-the-namespace"), Expression: pulumi.String(ofAccount),
			}},
			Validations: admissionv1.ValidationArray{
				&admissionv1.ValidationArgs{
					Expression: pulumi.String("!(" + ofHop + ")"),
					Message:    pulumi.String(fmt.Sprintf("what has the label %s is made by the platform, and no account of the team changes it; ask %s", hop.Label, contact)),
					Reason:     pulumi.String("Forbidden"),
				},
				&admissionv1.ValidationArgs{
					Expression: pulumi.String("!(" + isToken + ")"),
					Message:    pulumi.String("a Secret of type kubernetes.io/service-account-token is a token that never expires, and no account of the team makes one; ask " + contact),
					Reason:     pulumi.String("Forbidden"),
				},
			},
		},
	}, opts...)
	if err != nil {
		return nil, err
	}
	return admissionv1.NewValidatingAdmissionPolicyBinding(ctx, "hop-guard", &admissionv1.ValidatingAdmissionPolicyBindingArgs{
		Metadata: clusterMetadata(HopGuard),
		Spec: &admissionv1.ValidatingAdmissionPolicyBindingSpecArgs{
			PolicyName:        policy.Metadata.Name().Elem(),
			ValidationActions: pulumi.ToStringArray([]string{"Deny"}),
		},
	}, opts...)
}
