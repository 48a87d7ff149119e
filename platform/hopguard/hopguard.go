// Package hopguard creates the admission policy that protects the objects of hops.
package hopguard

import (
	"fmt"

	admissionv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/admissionregistration/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop"
)

// Name is the name of the policy, and of its binding.
const Name = "strata-hops"

// ofHop is true if the new or the old object carries the label of a hop. So a team can neither add nor remove the label.
const ofHop = `[object, oldObject].exists(o, o != null && has(o.metadata.labels) && '` + hop.Label + `' in o.metadata.labels)`

// ofAccount is true if the request comes from a service account of the request's namespace.
const ofAccount = `request.userInfo.username.startsWith('system:serviceaccount:' + request.namespace + ':')`

// isToken is true if the new object is a Secret that Kubernetes fills with a service account token. Such a token never
// expires.
const isToken = `dyn(object) != null && dyn(object).?type.orValue('') == 'kubernetes.io/service-account-token'`

// isPublisher is true for the Secrets with the keys of publishers and with the trusted root, also where the hop has created none.
const isPublisher = `request.resource.resource == 'secrets' && request.name in ['` + hop.PublisherSecret + `', '` + hop.TrustedRootSecret + `']`

// New makes the API server refuse changes of the hop's objects by the team's accounts. A team may write Secrets and
// ConfigMaps of its own, and RBAC cannot exclude single names: a create request has no name to match yet, and RBAC has no
// deny rules. The policy also refuses service account token Secrets: whoever may create them could act as any account of
// the namespace. The policy ignores requests from outside the namespace, such as those of layer 2 and of Kubernetes' own
// controllers. It returns the binding. metadata is that of both objects, and refusals name the contact.
func New(ctx *pulumi.Context, metadata *metav1.ObjectMetaArgs, contact string, opts ...pulumi.ResourceOption) (pulumi.Resource, error) {
	policy, err := admissionv1.NewValidatingAdmissionPolicy(ctx, "hop-guard", &admissionv1.ValidatingAdmissionPolicyArgs{
		Metadata: metadata,
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
					Message:    pulumi.String(fmt.Sprintf("objects with the label %s belong to the platform: accounts of the team may not change them; ask %s", hop.Label, contact)),
					Reason:     pulumi.String("Forbidden"),
				},
				&admissionv1.ValidationArgs{
					Expression: pulumi.String("!(" + isPublisher + ")"),
					Message:    pulumi.String("the Secrets " + hop.PublisherSecret + " and " + hop.TrustedRootSecret + " decide whose signatures Flux trusts: accounts of the team may not create one; ask " + contact),
					Reason:     pulumi.String("Forbidden"),
				},
				&admissionv1.ValidationArgs{
					Expression: pulumi.String("!(" + isToken + ")"),
					Message:    pulumi.String("a Secret of type kubernetes.io/service-account-token holds a token that never expires: accounts of the team may not create one; ask " + contact),
					Reason:     pulumi.String("Forbidden"),
				},
			},
		},
	}, opts...)
	if err != nil {
		return nil, err
	}
	return admissionv1.NewValidatingAdmissionPolicyBinding(ctx, "hop-guard", &admissionv1.ValidatingAdmissionPolicyBindingArgs{
		Metadata: metadata,
		Spec: &admissionv1.ValidatingAdmissionPolicyBindingSpecArgs{
			PolicyName:        policy.Metadata.Name().Elem(),
			ValidationActions: pulumi.ToStringArray([]string{"Deny"}),
		},
	}, opts...)
}
