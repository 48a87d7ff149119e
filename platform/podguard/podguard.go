// Package podguard creates the admission policy for the pods of the embedded operator.
package podguard

import (
	"strings"

	admissionv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/admissionregistration/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Name is the name of the policy, and of its binding.
const Name = "strata-operator-pods"

// containers are all containers of a pod.
const containers = `object.spec.containers + object.spec.?initContainers.orValue([]) + object.spec.?ephemeralContainers.orValue([])`

// A rule is a control of the pod security standard "restricted", and the message of its refusal.
type rule struct{ expression, message string }

// rules are the controls of "restricted" except those of seccomp and AppArmor.
var rules = []rule{
	{
		`!object.spec.?hostNetwork.orValue(false) && !object.spec.?hostPID.orValue(false) && !object.spec.?hostIPC.orValue(false)`,
		"it shares a namespace of its node",
	},
	{
		`object.spec.?volumes.orValue([]).all(v, has(v.configMap) || has(v.downwardAPI) || has(v.emptyDir) || has(v.projected) || has(v.secret))`,
		"a volume is none of configMap, downwardAPI, emptyDir, projected and secret",
	},
	{
		`object.spec.?securityContext.?runAsNonRoot.orValue(false) && object.spec.?securityContext.?runAsUser.orValue(1) != 0`,
		"spec.securityContext does not set runAsNonRoot, or its user is root",
	},
	{
		`!has(object.spec.securityContext) || !has(object.spec.securityContext.sysctls) || object.spec.securityContext.sysctls.size() == 0`,
		"spec.securityContext sets sysctls",
	},
	{
		`!has(object.spec.securityContext) || (!has(object.spec.securityContext.windowsOptions) && !has(object.spec.securityContext.seLinuxOptions))`,
		"spec.securityContext sets windowsOptions or seLinuxOptions",
	},
	{
		`variables.containers.all(c, !c.?securityContext.?privileged.orValue(false) && !c.?securityContext.?allowPrivilegeEscalation.orValue(true))`,
		"a container is privileged, or does not set allowPrivilegeEscalation to false",
	},
	{
		`variables.containers.all(c, has(c.securityContext) && has(c.securityContext.capabilities) && ` +
			`c.securityContext.capabilities.?drop.orValue([]).exists(d, d == 'ALL') && c.securityContext.capabilities.?add.orValue([]).size() == 0)`,
		"a container does not drop all capabilities, or adds one",
	},
	{
		`variables.containers.all(c, c.?securityContext.?runAsNonRoot.orValue(true) && c.?securityContext.?runAsUser.orValue(1) != 0)`,
		"a container runs as root",
	},
	{
		`variables.containers.all(c, c.?securityContext.?procMount.orValue('Default') == 'Default' && ` +
			`(!has(c.securityContext) || (!has(c.securityContext.windowsOptions) && !has(c.securityContext.seLinuxOptions))))`,
		"a container sets procMount, windowsOptions or seLinuxOptions",
	},
	{
		`variables.containers.all(c, c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0))`,
		"a container has a hostPort",
	},
}

// New makes the API server refuse pods of a namespace that the pod security standard "restricted" refuses, whoever creates them,
// except for their profiles of seccomp and AppArmor. The embedded operator isolates each run by namespaces of the kernel, which the
// default profiles forbid. It returns the binding. metadata is that of both objects.
func New(ctx *pulumi.Context, metadata *metav1.ObjectMetaArgs, namespace string, opts ...pulumi.ResourceOption) (pulumi.Resource, error) {
	var validations admissionv1.ValidationArray
	for _, each := range rules {
		validations = append(validations, &admissionv1.ValidationArgs{
			Expression: pulumi.String(each.expression), Reason: pulumi.String("Forbidden"),
			Message: pulumi.String(strings.Join([]string{"a pod in " + namespace + " must not reach its node", each.message}, ": ")),
		})
	}
	policy, err := admissionv1.NewValidatingAdmissionPolicy(ctx, "operator-pods", &admissionv1.ValidatingAdmissionPolicyArgs{
		Metadata: metadata,
		Spec: &admissionv1.ValidatingAdmissionPolicySpecArgs{
			FailurePolicy: pulumi.String("Fail"),
			MatchConstraints: &admissionv1.MatchResourcesArgs{
				NamespaceSelector: &metav1.LabelSelectorArgs{MatchLabels: pulumi.StringMap{"kubernetes.io/metadata.name": pulumi.String(namespace)}},
				ResourceRules: admissionv1.NamedRuleWithOperationsArray{&admissionv1.NamedRuleWithOperationsArgs{
					ApiGroups:   pulumi.ToStringArray([]string{""}),
					ApiVersions: pulumi.ToStringArray([]string{"v1"}),
					Operations:  pulumi.ToStringArray([]string{"CREATE", "UPDATE"}),
					Resources:   pulumi.ToStringArray([]string{"pods", "pods/ephemeralcontainers"}),
				}},
			},
			Variables:   admissionv1.VariableArray{&admissionv1.VariableArgs{Name: pulumi.String("containers"), Expression: pulumi.String(containers)}},
			Validations: validations,
		},
	}, opts...)
	if err != nil {
		return nil, err
	}
	return admissionv1.NewValidatingAdmissionPolicyBinding(ctx, "operator-pods", &admissionv1.ValidatingAdmissionPolicyBindingArgs{
		Metadata: metadata,
		Spec: &admissionv1.ValidatingAdmissionPolicyBindingSpecArgs{
			PolicyName: policy.Metadata.Name().Elem(), ValidationActions: pulumi.ToStringArray([]string{"Deny"}),
		},
	}, opts...)
}
