package hop

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	networkingv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/networking/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/components/network"
)

const (
	// Ports of a workspace of upstream's operator, of that operator's server of Programs, and of source-controller's
	// artifacts.
	workspacePort = 50051
	programPort   = 9090
	artifactPort  = 9090
)

// WorkspaceLabel with WorkspaceValue is the label of every pod in which upstream's operator runs a Stack.
const (
	WorkspaceLabel = "auto.pulumi.com/component"
	WorkspaceValue = "workspace"
)

// databasePorts are the ports of the Kubernetes API, of databases, and of the Cloud SQL Auth Proxy.
var databasePorts = []int{443, 3306, 3307, 5432}

// metadataServers are the addresses at which a pod gets the token of its own Google identity, with and without GKE's
// Dataplane V2.
var metadataServers = map[string]int{"169.254.169.252/32": 988, "169.254.169.254/32": 80}

// network lets the team's pods connect to each other, to the cluster's DNS, to the API server and to public addresses. No other
// pods may connect to the team's pods. All of the team's pods reach the API server, not only those of Stacks: they reach its public
// address anyway, and the API server authenticates every request. The NetworkPolicy denies every other connection, in both directions.
func (b *builder) network() error {
	egress := networkingv1.NetworkPolicyEgressRuleArray{
		network.To(network.OwnPods()),
		network.NameService(),
		network.Public(),
	}
	for _, server := range slices.Sorted(maps.Keys(metadataServers)) {
		egress = append(egress, network.To(network.Addresses(pulumi.String(server)), network.Port("TCP", metadataServers[server])))
	}
	if len(b.args.ControlPlane) > 0 {
		egress = append(egress, network.ControlPlane(b.args.ControlPlane))
	}
	for _, private := range b.args.PrivateRanges {
		egress = append(egress, network.To(network.Addresses(private.ToStringOutput().ApplyT(checkPrivate).(pulumi.StringOutput)), network.Ports(databasePorts...)...))
	}
	if err := b.allow("network", "strata", nil, networkingv1.NetworkPolicyIngressRuleArray{network.From(network.OwnPods())}, egress); err != nil {
		return err
	}
	if !b.args.Operator.Workspaces {
		return nil
	}
	operator := network.InNamespace(b.args.Operator.Namespace, nil)
	source := network.InNamespace(pulumi.String(fluxcd.Namespace), pulumi.StringMap{"app": pulumi.String("source-controller")})
	return b.allow("workspaces", "strata-workspaces", pulumi.StringMap{WorkspaceLabel: pulumi.String(WorkspaceValue)},
		networkingv1.NetworkPolicyIngressRuleArray{network.From(operator, network.Port("TCP", workspacePort))},
		networkingv1.NetworkPolicyEgressRuleArray{network.To(operator, network.Port("TCP", programPort)), network.To(source, network.Port("TCP", artifactPort))})
}

// allow creates a NetworkPolicy for the pods with the given labels; nil means all pods.
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

// checkPrivate returns the range if it is private, and an error otherwise. A computed range reaches no other check.
func checkPrivate(given string) (string, error) {
	if prefix, err := netip.ParsePrefix(given); err != nil || !isPrivate(prefix) {
		return "", fmt.Errorf("private range %q is not a range of private addresses, such as 10.8.0.0/24", given)
	}
	return given, nil
}

// isPrivate reports whether a range lies within the private address space.
func isPrivate(prefix netip.Prefix) bool {
	for _, each := range network.Private() {
		if private := netip.MustParsePrefix(each); private.Bits() <= prefix.Bits() && private.Contains(prefix.Addr()) {
			return true
		}
	}
	return false
}
