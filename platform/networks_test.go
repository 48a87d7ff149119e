package platform_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/local/machine/network/policy"
	"github.com/strata-platform/strata/internal/pulumitest"
	"github.com/strata-platform/strata/platform"
)

// controlPlane is the addresses of the control plane in the contexts of layer 1, by the kind of the cluster.
var controlPlane = map[string][]any{
	"public":    {"203.0.113.7"},
	"peering":   {"172.16.0.2", "203.0.113.7"},
	"psc":       {"10.132.0.2", "203.0.113.7"},
	"dual":      {"10.132.0.2", "203.0.113.7", "2600:1900:4010::7"},
	"old layer": nil,
}

// TestNetworksOfPods evaluates the NetworkPolicies of the whole layer, by the rules by which the gateway of a home enforces them.
// A row passes on the listed clusters, and on no other.
func TestNetworksOfPods(t *testing.T) {
	web := pod("team-web", "web-0", nil)
	workspace := pod("team-web", "web-workspace-0", labels.Set{hop.WorkspaceLabel: hop.WorkspaceValue})
	api := pod("team-api", "api-0", nil)
	operator := pod(platform.OperatorNamespace, "operator-0", nil, corev1.ContainerPort{Name: "http-fileserver", ContainerPort: 9090})
	dns := pod("kube-system", "kube-dns-0", labels.Set{"k8s-app": "kube-dns"})
	source := flux("source-controller", corev1.ContainerPort{Name: "http", ContainerPort: 9090})
	kustomize, helm, notification := flux("kustomize-controller"), flux("helm-controller"), flux("notification-controller")
	private, peered, public, six := at("10.132.0.2"), at("172.16.0.2"), at("203.0.113.7"), at("2600:1900:4010::7")
	node, nodeLocal, dataplane, legacy := at("10.132.0.9"), at("169.254.20.10"), at("169.254.169.254"), at("169.254.169.252")

	const all, none, handed = "public peering psc dual old layer", "", "psc dual"
	table := []networkRow{
		// The control plane.
		{web, private, "TCP", 443, handed},
		{workspace, private, "TCP", 443, handed},
		{web, peered, "TCP", 443, "peering"},
		{workspace, peered, "TCP", 443, "peering"},
		{web, public, "TCP", 443, all}, // Public addresses pass at every port.
		{web, six, "TCP", 443, "dual"},
		{web, at("2600:1900:4010::8"), "TCP", 443, none},
		{web, private, "TCP", 6443, none},
		{web, private, "TCP", 80, none},
		{web, private, "TCP", 8132, none}, // Konnectivity
		{workspace, private, "TCP", 10250, none},
		{web, private, "UDP", 443, none},
		{web, at("10.132.0.3"), "TCP", 443, none},
		{web, at("172.16.0.3"), "TCP", 443, none},
		{kustomize, private, "TCP", 443, handed},
		{helm, private, "TCP", 443, handed},
		{source, private, "TCP", 443, handed},
		{notification, private, "TCP", 443, handed},
		{kustomize, peered, "TCP", 443, "peering"},
		{kustomize, six, "TCP", 443, "dual"},
		{kustomize, public, "TCP", 443, all}, // the address in the kubeconfig
		{kustomize, public, "TCP", 80, none},
		{kustomize, private, "TCP", 80, none},
		{source, private, "TCP", 22, none},

		// DNS: kube-dns, and the cache on the node.
		{web, dns, "UDP", 53, all},
		{web, dns, "TCP", 53, all},
		{workspace, nodeLocal, "UDP", 53, all},
		{web, nodeLocal, "TCP", 53, all},
		{kustomize, nodeLocal, "UDP", 53, all},
		{web, nodeLocal, "TCP", 9253, none}, // the cache's metrics
		{web, dns, "TCP", 8080, none},
		{web, node, "UDP", 53, none},

		// The metadata server, with and without Dataplane V2.
		{web, dataplane, "TCP", 80, all},
		{workspace, dataplane, "TCP", 80, all},
		{web, legacy, "TCP", 988, all},
		{workspace, legacy, "TCP", 988, all},
		{web, dataplane, "TCP", 443, none},
		{web, dataplane, "TCP", 988, none},
		{web, dataplane, "UDP", 53, none},
		{web, legacy, "TCP", 80, none},
		{web, at("169.254.169.253"), "TCP", 80, none},
		{source, dataplane, "TCP", 80, none},
		{kustomize, dataplane, "TCP", 80, none},
		{kustomize, legacy, "TCP", 988, none},

		// The node: its kubelet, and the port of the metadata server on its own address.
		{web, node, "TCP", 10250, none},
		{web, node, "TCP", 10255, none},
		{workspace, node, "TCP", 988, none},
		{kustomize, node, "TCP", 10250, none},

		// Other pods.
		{web, pod("team-web", "web-1", nil), "TCP", 8080, all},
		{web, api, "TCP", 8080, none},
		{api, workspace, "TCP", 50051, none},
		{operator, workspace, "TCP", 50051, all},
		{operator, workspace, "TCP", 22, none},
		{operator, web, "TCP", 50051, none},
		{workspace, operator, "TCP", 9090, all},
		{web, operator, "TCP", 9090, none},
		{workspace, operator, "TCP", 8383, none},
		{workspace, source, "TCP", 9090, all},
		{operator, source, "TCP", 9090, all},
		{web, source, "TCP", 9090, none},
		{workspace, source, "TCP", 8080, none},
		{kustomize, source, "TCP", 9090, all},
		{kustomize, web, "TCP", 8080, none},
		{web, kustomize, "TCP", 9440, none},

		// Addresses outside the cluster.
		{web, at("198.51.100.1"), "TCP", 25, all},
		{source, at("198.51.100.1"), "TCP", 22, all},
		{kustomize, at("198.51.100.1"), "TCP", 443, none},
	}
	checkNetworks(t, "", table)

	// The runs of all teams are in the embedded operator's pod.
	checkNetworks(t, operatorImage, []networkRow{
		{operator, private, "TCP", 443, handed},
		{operator, peered, "TCP", 443, "peering"},
		{operator, private, "TCP", 80, none},
		{operator, dns, "UDP", 53, all},
		{operator, source, "TCP", 9090, all},
		{operator, flux("notification-controller", corev1.ContainerPort{Name: "http", ContainerPort: 9090}), "TCP", 8080, none},
		{operator, at("198.51.100.1"), "TCP", 443, all}, // Google's APIs, and Git servers
		{operator, dataplane, "TCP", 80, none},
		{operator, legacy, "TCP", 988, none},
		{operator, node, "TCP", 10250, none},
		{operator, web, "TCP", 8080, none},
		{operator, pod(platform.OperatorNamespace, "operator-1", nil), "TCP", 8080, none},
		{web, operator, "TCP", 8080, none},
		{pod(platform.OperatorNamespace, "operator-1", nil), operator, "TCP", 8080, none},
		{web, source, "TCP", 9090, none},
	})
}

// A networkRow is a connection that passes on the listed clusters, and on no other.
type networkRow struct {
	from, to policy.Peer
	protocol corev1.Protocol
	port     uint16
	passes   string
}

// checkNetworks evaluates the NetworkPolicies of a layer with the image of the embedded operator, or without it for upstream's.
func checkNetworks(t *testing.T, image string, table []networkRow) {
	t.Helper()
	for kind, addresses := range controlPlane {
		policies := policy.Compile(networkPolicies(t, image, addresses))
		for _, row := range table {
			err := policies.Allows(row.from, row.to, row.protocol, row.port)
			if want := strings.Contains(row.passes, kind); (err == nil) != want {
				t.Errorf("cluster %s: %s to %s at %s %d passes: %v, want %v (%v)", kind, called(row.from), called(row.to), row.protocol, row.port, err == nil, want, err)
			}
		}
	}
}

// networkPolicies returns the NetworkPolicies that the layer creates.
func networkPolicies(t *testing.T, image string, addresses []any) []*networkingv1.NetworkPolicy {
	t.Helper()
	engine := below(t, func(c *platform.Config) { c.OperatorImage = image })
	if addresses != nil {
		outputs := engine.Read["pulumi:pulumi:StackReference"]["outputs"].ObjectValue()
		outputs[handoff.OutputAddresses] = resource.NewPropertyValue(addresses)
	}
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	made := map[string]*networkingv1.NetworkPolicy{}
	var all []*networkingv1.NetworkPolicy
	for _, each := range engine.OfType(networkType) {
		object := map[string]any{}
		for _, key := range []string{"metadata", "spec"} {
			object[key], _ = pulumitest.Plain(t, each.Inputs, key)
		}
		content, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		decoded := &networkingv1.NetworkPolicy{}
		if err := json.Unmarshal(content, decoded); err != nil {
			t.Fatal(err)
		}
		made[decoded.Namespace+"/"+decoded.Name] = decoded
		all = append(all, decoded)
	}
	// Without the policy, every row of its pods would pass.
	for _, name := range []string{
		"team-web/strata", "team-api/strata", platform.OperatorNamespace + "/strata", "flux-system/strata", "flux-system/strata-artifacts",
	} {
		if made[name] == nil {
			t.Fatalf("the layer creates no NetworkPolicy %s", name)
		}
	}
	if image == "" && made["team-web/strata-workspaces"] == nil {
		t.Fatal("the layer creates no NetworkPolicy for the pods in which upstream's operator runs Stacks")
	}
	return all
}

func pod(namespace, name string, of labels.Set, ports ...corev1.ContainerPort) policy.Peer {
	p := policy.Peer{IP: netip.MustParseAddr("10.4.0.9"), Namespace: namespace, Name: name, Labels: of, Ports: ports}
	if team, isTeam := strings.CutPrefix(namespace, "team-"); isTeam {
		p.NamespaceLabels = labels.Set{hop.TeamLabel: team}
	}
	return p
}

func flux(controller string, ports ...corev1.ContainerPort) policy.Peer {
	return pod("flux-system", controller+"-0", labels.Set{"app": controller}, ports...)
}

// at is an address that belongs to no pod.
func at(address string) policy.Peer { return policy.Peer{IP: netip.MustParseAddr(address)} }

func called(p policy.Peer) string {
	if p.Name == "" {
		return p.IP.String()
	}
	return fmt.Sprintf("%s/%s", p.Namespace, p.Name)
}
