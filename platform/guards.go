package platform

import (
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	networkingv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/networking/v1"
	rbacv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/rbac/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/platform/hopguard"
)

// HopGuard is the name of the policy that protects the objects of hops, and of its binding.
const HopGuard = hopguard.Name

// Ports of upstream's operator and of source-controller, by their names in the pods.
const (
	programPort  = "http-fileserver"
	artifactPort = "http"
)

// guardOperator isolates the operator from other pods, and grants it the permissions that it needs in its own namespace.
func (r *rights) guardOperator(ctx *pulumi.Context, opts []pulumi.ResourceOption) error {
	rules := OperatorRole()
	if r.upstream {
		rules = upstreamOperatorRole()
	}
	operator := rbacv1.SubjectArray{&rbacv1.SubjectArgs{
		Kind: pulumi.String("ServiceAccount"), Namespace: pulumi.String(OperatorNamespace), Name: pulumi.String(OperatorAccount),
	}}
	if err := r.grant(ctx, "operator", OperatorNamespace, RoleOperator, rules, operator, opts); err != nil {
		return err
	}
	var callers networkingv1.NetworkPolicyIngressRuleArray
	if r.upstream {
		callers = append(callers, from(programPort, workspaces()))
	}
	policy, err := networkingv1.NewNetworkPolicy(ctx, "operator-network", &networkingv1.NetworkPolicyArgs{
		Metadata: r.metadata(OperatorNamespace, "strata"),
		Spec: &networkingv1.NetworkPolicySpecArgs{
			PodSelector: &metav1.LabelSelectorArgs{},
			PolicyTypes: pulumi.ToStringArray([]string{"Ingress"}),
			Ingress:     callers,
		},
	}, r.inside(OperatorNamespace, opts)...)
	r.all = append(r.all, policy)
	return err
}

// guardFlux patches Flux's namespace, which the Flux provider creates: no pod in it may reach its node, and the pods that
// run Stacks may fetch sources from it.
func guardFlux(ctx *pulumi.Context, upstream bool, opts ...pulumi.ResourceOption) error {
	_, err := corev1.NewNamespacePatch(ctx, "flux-pod-security", &corev1.NamespacePatchArgs{
		Metadata: &metav1.ObjectMetaPatchArgs{
			Name:   pulumi.String(fluxcd.Namespace),
			Labels: pulumi.StringMap{"pod-security.kubernetes.io/enforce": pulumi.String("restricted")},
		},
	}, opts...)
	if err != nil {
		return err
	}
	callers := networkingv1.NetworkPolicyPeerArray{podsOf(OperatorNamespace)}
	if upstream {
		callers = append(callers, workspaces())
	}
	_, err = networkingv1.NewNetworkPolicy(ctx, "flux-artifacts", &networkingv1.NetworkPolicyArgs{
		Metadata: &metav1.ObjectMetaArgs{
			Name: pulumi.String("strata-artifacts"), Namespace: pulumi.String(fluxcd.Namespace), Labels: labels(),
			// See clusterMetadata.
			Annotations: pulumi.StringMap{"pulumi.com/deletionPropagationPolicy": pulumi.String("background")},
		},
		Spec: &networkingv1.NetworkPolicySpecArgs{
			PodSelector: &metav1.LabelSelectorArgs{MatchLabels: pulumi.StringMap{"app": pulumi.String("source-controller")}},
			PolicyTypes: pulumi.ToStringArray([]string{"Ingress"}),
			Ingress:     networkingv1.NetworkPolicyIngressRuleArray{from(artifactPort, callers...)},
		},
	}, opts...)
	return err
}

// workspaces selects the pods in the teams' namespaces in which upstream's operator runs Stacks.
func workspaces() *networkingv1.NetworkPolicyPeerArgs {
	return &networkingv1.NetworkPolicyPeerArgs{
		NamespaceSelector: &metav1.LabelSelectorArgs{MatchExpressions: metav1.LabelSelectorRequirementArray{
			&metav1.LabelSelectorRequirementArgs{Key: pulumi.String(hop.TeamLabel), Operator: pulumi.String("Exists")},
		}},
		PodSelector: &metav1.LabelSelectorArgs{MatchLabels: pulumi.StringMap{hop.WorkspaceLabel: pulumi.String(hop.WorkspaceValue)}},
	}
}

func podsOf(namespace string) *networkingv1.NetworkPolicyPeerArgs {
	return &networkingv1.NetworkPolicyPeerArgs{NamespaceSelector: &metav1.LabelSelectorArgs{
		MatchLabels: pulumi.StringMap{"kubernetes.io/metadata.name": pulumi.String(namespace)},
	}}
}

func from(port string, peers ...networkingv1.NetworkPolicyPeerInput) *networkingv1.NetworkPolicyIngressRuleArgs {
	return &networkingv1.NetworkPolicyIngressRuleArgs{
		From:  networkingv1.NetworkPolicyPeerArray(peers),
		Ports: networkingv1.NetworkPolicyPortArray{&networkingv1.NetworkPolicyPortArgs{Port: pulumi.String(port)}},
	}
}
