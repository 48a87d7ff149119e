package hop

import (
	"net/netip"

	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	networkingv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/networking/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
)

const (
	// namespaceNameLabel is what the API server itself puts on every namespace.
	namespaceNameLabel = "kubernetes.io/metadata.name"
	// nodeNameService is where GKE's cache of names listens on each node.
	nodeNameService = "169.254.20.10/32"

	// Of upstream's operator the port of a workspace and that of its server of Programs, and the one of source-controller.
	workspacePort = 50051
	programPort   = 9090
	artifactPort  = 9090
)

// WorkspaceLabel with WorkspaceValue is on every pod in which upstream's operator runs a Stack.
const (
	WorkspaceLabel = "auto.pulumi.com/component"
	WorkspaceValue = "workspace"
)

// privateNetworks are the addresses that mean something else in each network: those of pods, services and nodes are among
// them, those of Google's interfaces are not.
var privateNetworks = []string{"10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"}

// databasePorts are those of the API, of databases, and of the Cloud SQL Auth Proxy.
var databasePorts = []int{443, 3306, 3307, 5432}

// metadataServers is where a pod gets the token of its own Google identity, with and without GKE's Dataplane V2.
var metadataServers = map[string]int{"169.254.169.252/32": 988, "169.254.169.254/32": 80}

// network lets the team's pods talk to each other, to the cluster's name service and to public addresses, and nobody else
// to them. Whatever it does not name is denied, both ways.
func (b *builder) network() error {
	egress := networkingv1.NetworkPolicyEgressRuleArray{
		toPeer(ownPods()),
		&networkingv1.NetworkPolicyEgressRuleArgs{
			To:    networkingv1.NetworkPolicyPeerArray{inNamespace("kube-system", nil), addresses(nodeNameService)},
			Ports: networkingv1.NetworkPolicyPortArray{port("UDP", 53), port("TCP", 53)},
		},
		&networkingv1.NetworkPolicyEgressRuleArgs{
			To: networkingv1.NetworkPolicyPeerArray{addresses("0.0.0.0/0", privateNetworks...)},
		},
	}
	for _, server := range sortedKeys(metadataServers) {
		egress = append(egress, toPeer(addresses(server), port("TCP", metadataServers[server])))
	}
	for _, private := range b.args.PrivateRanges {
		egress = append(egress, toPeer(addresses(private), ports(databasePorts...)...))
	}
	if err := b.allow("network", "strata", nil, networkingv1.NetworkPolicyIngressRuleArray{fromPeer(ownPods())}, egress); err != nil {
		return err
	}
	if !b.args.Operator.Workspaces {
		return nil
	}
	operator := inNamespace(b.args.Operator.Namespace, nil)
	source := inNamespace(fluxcd.Namespace, pulumi.StringMap{"app": pulumi.String("source-controller")})
	return b.allow("workspaces", "strata-workspaces", pulumi.StringMap{WorkspaceLabel: pulumi.String(WorkspaceValue)},
		networkingv1.NetworkPolicyIngressRuleArray{fromPeer(operator, port("TCP", workspacePort))},
		networkingv1.NetworkPolicyEgressRuleArray{toPeer(operator, port("TCP", programPort)), toPeer(source, port("TCP", artifactPort))})
}

// allow makes a NetworkPolicy for the pods with the given labels, all pods where there are none.
func (b *builder) allow(
	part, name string, pods pulumi.StringMap, in networkingv1.NetworkPolicyIngressRuleArray, out networkingv1.NetworkPolicyEgressRuleArray,
) error {
	selector := &metav1.LabelSelectorArgs{}
	if pods != nil {
		selector.MatchLabels = pods
	}
	policy, err := networkingv1.NewNetworkPolicy(b.ctx, b.name+"-"+part, &networkingv1.NetworkPolicyArgs{
		Metadata: b.metadata(name),
		Spec: &networkingv1.NetworkPolicySpecArgs{
			PodSelector: selector,
			PolicyTypes: pulumi.ToStringArray([]string{"Ingress", "Egress"}),
			Ingress:     in,
			Egress:      out,
		},
	}, b.inside()...)
	b.beforeSync = append(b.beforeSync, policy)
	return err
}

func ownPods() *networkingv1.NetworkPolicyPeerArgs {
	return &networkingv1.NetworkPolicyPeerArgs{PodSelector: &metav1.LabelSelectorArgs{}}
}

// inNamespace are the pods of a namespace with the given labels, all of its pods where there are none.
func inNamespace(namespace string, pods pulumi.StringMap) *networkingv1.NetworkPolicyPeerArgs {
	peer := &networkingv1.NetworkPolicyPeerArgs{NamespaceSelector: &metav1.LabelSelectorArgs{
		MatchLabels: pulumi.StringMap{namespaceNameLabel: pulumi.String(namespace)},
	}}
	if pods != nil {
		peer.PodSelector = &metav1.LabelSelectorArgs{MatchLabels: pods}
	}
	return peer
}

func addresses(in string, except ...string) *networkingv1.NetworkPolicyPeerArgs {
	block := &networkingv1.IPBlockArgs{Cidr: pulumi.String(in)}
	if len(except) > 0 {
		block.Except = pulumi.ToStringArray(except)
	}
	return &networkingv1.NetworkPolicyPeerArgs{IpBlock: block}
}

func toPeer(peer *networkingv1.NetworkPolicyPeerArgs, ports ...networkingv1.NetworkPolicyPortInput) *networkingv1.NetworkPolicyEgressRuleArgs {
	return &networkingv1.NetworkPolicyEgressRuleArgs{
		To: networkingv1.NetworkPolicyPeerArray{peer}, Ports: networkingv1.NetworkPolicyPortArray(ports),
	}
}

func fromPeer(peer *networkingv1.NetworkPolicyPeerArgs, ports ...networkingv1.NetworkPolicyPortInput) *networkingv1.NetworkPolicyIngressRuleArgs {
	return &networkingv1.NetworkPolicyIngressRuleArgs{
		From: networkingv1.NetworkPolicyPeerArray{peer}, Ports: networkingv1.NetworkPolicyPortArray(ports),
	}
}

func port(protocol string, number int) *networkingv1.NetworkPolicyPortArgs {
	return &networkingv1.NetworkPolicyPortArgs{Protocol: pulumi.String(protocol), Port: pulumi.Int(number)}
}

func ports(numbers ...int) []networkingv1.NetworkPolicyPortInput {
	var all []networkingv1.NetworkPolicyPortInput
	for _, number := range numbers {
		all = append(all, port("TCP", number))
	}
	return all
}

// isPrivate says whether a range lies within a private network.
func isPrivate(prefix netip.Prefix) bool {
	for _, each := range privateNetworks {
		if network := netip.MustParsePrefix(each); network.Bits() <= prefix.Bits() && network.Contains(prefix.Addr()) {
			return true
		}
	}
	return false
}
