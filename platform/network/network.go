// Package network contains the NetworkPolicies by which layer 2 isolates the operator, and opens Flux to it.
package network

import (
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	networkingv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/networking/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop"
)

// Ports of upstream's operator and of source-controller, by their names in the pods.
const (
	programPort  = "http-fileserver"
	artifactPort = "http"
)

// Operator isolates the operator's pods. Only the pods in which upstream's operator runs Stacks connect to it.
func Operator(ctx *pulumi.Context, metadata *metav1.ObjectMetaArgs, upstream bool, opts ...pulumi.ResourceOption) (*networkingv1.NetworkPolicy, error) {
	var callers networkingv1.NetworkPolicyIngressRuleArray
	if upstream {
		callers = append(callers, from(programPort, workspaces()))
	}
	return networkingv1.NewNetworkPolicy(ctx, "operator-network", &networkingv1.NetworkPolicyArgs{
		Metadata: metadata,
		Spec: &networkingv1.NetworkPolicySpecArgs{
			PodSelector: &metav1.LabelSelectorArgs{},
			PolicyTypes: pulumi.ToStringArray([]string{"Ingress"}),
			Ingress:     callers,
		},
	}, opts...)
}

// Flux lets the pods that run Stacks fetch sources from Flux. metadata returns the metadata of an object in Flux's namespace, and operator
// is the namespace of the operator.
func Flux(
	ctx *pulumi.Context, metadata func(name string) *metav1.ObjectMetaArgs, operator string, upstream bool, opts ...pulumi.ResourceOption,
) error {
	callers := networkingv1.NetworkPolicyPeerArray{podsOf(operator)}
	if upstream {
		callers = append(callers, workspaces())
	}
	_, err := networkingv1.NewNetworkPolicy(ctx, "flux-artifacts", &networkingv1.NetworkPolicyArgs{
		Metadata: metadata("strata-artifacts"),
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
