// Package network builds the rules of NetworkPolicies from peers and ports.
package network

import (
	"net/netip"

	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	networkingv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/networking/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// namespaceNameLabel is the label that the API server sets on every namespace.
	namespaceNameLabel = "kubernetes.io/metadata.name"
	// nodeNameService is the address of GKE's NodeLocal DNSCache on each node.
	nodeNameService = "169.254.20.10/32"
)

// Private returns the address ranges that are not globally unique. They contain the addresses of pods, services and
// nodes, but not the addresses of Google's APIs.
func Private() []string {
	return []string{"10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"}
}

// NameService lets pods query the cluster's DNS.
func NameService() *networkingv1.NetworkPolicyEgressRuleArgs {
	return &networkingv1.NetworkPolicyEgressRuleArgs{
		To:    networkingv1.NetworkPolicyPeerArray{InNamespace(pulumi.String("kube-system"), nil), Addresses(pulumi.String(nodeNameService))},
		Ports: networkingv1.NetworkPolicyPortArray{Port("UDP", 53), Port("TCP", 53)},
	}
}

// Public lets pods connect to public addresses at all ports.
func Public() *networkingv1.NetworkPolicyEgressRuleArgs {
	return To(Addresses(pulumi.String("0.0.0.0/0"), Private()...))
}

// ControlPlane lets pods connect to the API server at the control plane's addresses. There must be at least one, because a rule
// without peers allows every address.
func ControlPlane(addresses []netip.Addr) *networkingv1.NetworkPolicyEgressRuleArgs {
	var peers networkingv1.NetworkPolicyPeerArray
	for _, each := range addresses {
		peers = append(peers, Addresses(pulumi.String(netip.PrefixFrom(each, each.BitLen()).String())))
	}
	return &networkingv1.NetworkPolicyEgressRuleArgs{To: peers, Ports: networkingv1.NetworkPolicyPortArray{Port("TCP", 443)}}
}

// OwnPods selects the pods of the policy's own namespace.
func OwnPods() *networkingv1.NetworkPolicyPeerArgs {
	return &networkingv1.NetworkPolicyPeerArgs{PodSelector: &metav1.LabelSelectorArgs{}}
}

// InNamespace selects the pods of a namespace with the given labels; nil means all of its pods.
func InNamespace(namespace pulumi.StringInput, pods pulumi.StringMap) *networkingv1.NetworkPolicyPeerArgs {
	peer := &networkingv1.NetworkPolicyPeerArgs{NamespaceSelector: &metav1.LabelSelectorArgs{
		MatchLabels: pulumi.StringMap{namespaceNameLabel: namespace},
	}}
	if pods != nil {
		peer.PodSelector = &metav1.LabelSelectorArgs{MatchLabels: pods}
	}
	return peer
}

// Addresses selects the addresses of a range without the excepted ranges.
func Addresses(in pulumi.StringInput, except ...string) *networkingv1.NetworkPolicyPeerArgs {
	block := &networkingv1.IPBlockArgs{Cidr: in}
	if len(except) > 0 {
		block.Except = pulumi.ToStringArray(except)
	}
	return &networkingv1.NetworkPolicyPeerArgs{IpBlock: block}
}

// To lets pods connect to a peer at the given ports; none means all ports.
func To(peer *networkingv1.NetworkPolicyPeerArgs, ports ...networkingv1.NetworkPolicyPortInput) *networkingv1.NetworkPolicyEgressRuleArgs {
	return &networkingv1.NetworkPolicyEgressRuleArgs{
		To: networkingv1.NetworkPolicyPeerArray{peer}, Ports: networkingv1.NetworkPolicyPortArray(ports),
	}
}

// From lets a peer connect to pods at the given ports; none means all ports.
func From(peer *networkingv1.NetworkPolicyPeerArgs, ports ...networkingv1.NetworkPolicyPortInput) *networkingv1.NetworkPolicyIngressRuleArgs {
	return &networkingv1.NetworkPolicyIngressRuleArgs{
		From: networkingv1.NetworkPolicyPeerArray{peer}, Ports: networkingv1.NetworkPolicyPortArray(ports),
	}
}

// Port returns the port with a number.
func Port(protocol string, number int) *networkingv1.NetworkPolicyPortArgs {
	return &networkingv1.NetworkPolicyPortArgs{Protocol: pulumi.String(protocol), Port: pulumi.Int(number)}
}

// Ports returns the TCP ports with the given numbers.
func Ports(numbers ...int) []networkingv1.NetworkPolicyPortInput {
	var all []networkingv1.NetworkPolicyPortInput
	for _, number := range numbers {
		all = append(all, Port("TCP", number))
	}
	return all
}
