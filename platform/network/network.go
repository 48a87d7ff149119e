// Package network contains the NetworkPolicies by which layer 2 isolates the operator, and opens Flux to it.
package network

import (
	"net/netip"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	networkingv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/networking/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/components/network"
)

// Ports of upstream's operator, and of source-controller's artifacts and notification-controller's events, by their names in the pods.
const (
	programPort = "http-fileserver"
	fluxPort    = "http"
	// fluxNumber is the number of fluxPort.
	fluxNumber = 9090
)

// privatePorts are the ports of Git servers in private ranges, and of Google's APIs at private addresses.
var privatePorts = []int{22, 80, 443}

// Settings describe the operator.
type Settings struct {
	// Upstream says that the operator is upstream's. Pod says that it is the embedded one, in a pod.
	Upstream, Pod bool
	// ControlPlane are the addresses of the control plane. PrivateRanges are private ranges that the pod may connect to.
	ControlPlane  []netip.Addr
	PrivateRanges []string
}

// Operator isolates the operator's pods. Only the pods in which upstream's operator runs Stacks connect to it. The embedded operator's
// pod, in which the runs of all teams are, connects to the API server, Flux, public addresses and private ranges. It does not reach
// the metadata server: its runs have the identities of their teams, and it has none.
func Operator(ctx *pulumi.Context, metadata *metav1.ObjectMetaArgs, settings Settings, opts ...pulumi.ResourceOption) (*networkingv1.NetworkPolicy, error) {
	spec := &networkingv1.NetworkPolicySpecArgs{PodSelector: &metav1.LabelSelectorArgs{}, PolicyTypes: pulumi.ToStringArray([]string{"Ingress"})}
	if settings.Upstream {
		spec.Ingress = networkingv1.NetworkPolicyIngressRuleArray{from(programPort, workspaces())}
	}
	if settings.Pod {
		spec.PolicyTypes = pulumi.ToStringArray([]string{"Ingress", "Egress"})
		spec.Egress = settings.egress()
	}
	return networkingv1.NewNetworkPolicy(ctx, "operator-network", &networkingv1.NetworkPolicyArgs{Metadata: metadata, Spec: spec}, opts...)
}

func (s Settings) egress() networkingv1.NetworkPolicyEgressRuleArray {
	rules := networkingv1.NetworkPolicyEgressRuleArray{network.NameService(), network.Public()}
	for _, controller := range []string{"source-controller", "notification-controller"} {
		flux := network.InNamespace(pulumi.String(fluxcd.Namespace), pulumi.StringMap{"app": pulumi.String(controller)})
		rules = append(rules, network.To(flux, network.Port("TCP", fluxNumber)))
	}
	if len(s.ControlPlane) > 0 {
		rules = append(rules, network.ControlPlane(s.ControlPlane))
	}
	for _, private := range s.PrivateRanges {
		rules = append(rules, network.To(network.Addresses(pulumi.String(private)), network.Ports(privatePorts...)...))
	}
	return rules
}

// Flux patches Flux's namespace, which the Flux provider creates: no pod in it may reach its node, and the pods that run Stacks may
// fetch sources from it. metadata returns the metadata of an object in Flux's namespace, and operator
// is the namespace of the operator. With notifies, the operator may send events to notification-controller, which accepts any event from
// those who reach it. The other pods that run Stacks may not.
func Flux(
	ctx *pulumi.Context, metadata func(name string) *metav1.ObjectMetaArgs, operator string, upstream, notifies bool, opts ...pulumi.ResourceOption,
) error {
	_, err := corev1.NewNamespacePatch(ctx, "flux-pod-security", &corev1.NamespacePatchArgs{
		Metadata: &metav1.ObjectMetaPatchArgs{
			Name:   pulumi.String(fluxcd.Namespace),
			Labels: pulumi.StringMap{"pod-security.kubernetes.io/enforce": pulumi.String("restricted")},
		},
	}, opts...)
	if err != nil {
		return err
	}
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
	pods := network.InNamespace(pulumi.String(operator), nil)
	callers := networkingv1.NetworkPolicyPeerArray{pods}
	if upstream {
		callers = append(callers, workspaces())
	}
	if err := open("flux-artifacts", "strata-artifacts", "source-controller", callers); err != nil || !notifies {
		return err
	}
	return open("flux-events", "strata-events", "notification-controller", networkingv1.NetworkPolicyPeerArray{pods})
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

func from(port string, peers ...networkingv1.NetworkPolicyPeerInput) *networkingv1.NetworkPolicyIngressRuleArgs {
	return &networkingv1.NetworkPolicyIngressRuleArgs{
		From:  networkingv1.NetworkPolicyPeerArray(peers),
		Ports: networkingv1.NetworkPolicyPortArray{&networkingv1.NetworkPolicyPortArgs{Port: pulumi.String(port)}},
	}
}
