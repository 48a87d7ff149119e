// Package network contains the NetworkPolicies by which layer 2 isolates the operator, and opens Flux to it.
package network

import (
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	networkingv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/networking/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop"
)

// Ports of upstream's operator, and of source-controller's artifacts and notification-controller's events, by their names in the pods.
const (
	programPort = "http-fileserver"
	fluxPort    = "http"
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
// is the namespace of the operator. With notifies, the operator may send events to notification-controller, which accepts any event from
// those who reach it. The other pods that run Stacks may not.
func Flux(
	ctx *pulumi.Context, metadata func(name string) *metav1.ObjectMetaArgs, operator string, upstream, notifies bool, opts ...pulumi.ResourceOption,
) error {
	open := func(part, name, controller string, callers networkingv1.NetworkPolicyPeerArray) error {
		_, err := networkingv1.NewNetworkPolicy(ctx, part, &networkingv1.NetworkPolicyArgs{
			Metadata: metadata(name),
			Spec: &networkingv1.NetworkPolicySpecArgs{
				PodSelector: &metav1.LabelSelectorArgs{MatchLabels: pulumi.StringMap{"app": pulumi.String(controller)}},
				PolicyTypes: pulumi.ToStringArray([]string{"Ingress"}),
				Ingress:     networkingv1.NetworkPolicyIngressRuleArray{from(fluxPort, callers...)},
			},
		}, opts...)
		return err
	}
	callers := networkingv1.NetworkPolicyPeerArray{podsOf(operator)}
	if upstream {
		callers = append(callers, workspaces())
	}
	if err := open("flux-artifacts", "strata-artifacts", "source-controller", callers); err != nil || !notifies {
		return err
	}
	return open("flux-events", "strata-events", "notification-controller", networkingv1.NetworkPolicyPeerArray{podsOf(operator)})
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
