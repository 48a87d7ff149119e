package hardening

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"

	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	networkingv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/networking/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumix"

	"github.com/strata-platform/strata/components/fluxcd/internal/kubeconfig"
	"github.com/strata-platform/strata/components/internal/inputs"
	"github.com/strata-platform/strata/components/network"
)

// servicePort is the port of source-controller's artifacts and of notification-controller's events.
const servicePort = 9090

// Labels of Flux's pods.
var (
	// builders build and apply the teams' commits, which may name any address.
	builders = []string{"kustomize-controller", "helm-controller"}
	// notFetchers are the controllers that fetch nothing from outside the cluster.
	notFetchers = append([]string{"notification-controller"}, builders...)
)

// NetworkPolicy is a NetworkPolicy in Flux's namespace.
type NetworkPolicy struct {
	// Name is the name of the object.
	Name string
	// Spec denies every connection in both directions that it does not list.
	Spec *networkingv1.NetworkPolicySpecArgs
}

// Network describes the addresses outside the cluster that Flux's pods need.
type Network struct {
	// Kubeconfig contains the address of the API server; empty adds no rule for that address.
	Kubeconfig pulumi.StringInput
	// PrivateRanges are the private ranges of Git servers, and of a control plane that ControlPlane omits.
	PrivateRanges pulumi.StringArray
	// ControlPlane are the addresses at which the cluster's own pods reach the API server, such as that of Private Service Connect.
	ControlPlane []netip.Addr
	// SourcePorts are ports of Git servers in PrivateRanges, in addition to 22, 80 and 443.
	SourcePorts []int
}

// Policies returns NetworkPolicies that limit Flux's pods to the connections that each of them needs. They replace Flux's
// own allow-egress, which lets every pod connect to any address and to the other pods. kustomize fetches files by HTTP in
// spite of --no-remote-bases.
func (n Network) Policies() []NetworkPolicy {
	events := network.To(pods("notification-controller"), network.Port("TCP", servicePort))
	artifacts := network.To(pods("source-controller"), network.Port("TCP", servicePort))
	fetched, notified := networkingv1.NetworkPolicyEgressRuleArray{artifacts, network.Public()}, networkingv1.NetworkPolicyEgressRuleArray{network.Public()}
	everybody := networkingv1.NetworkPolicyEgressRuleArray{network.NameService(), events}
	if !inputs.Missing(n.Kubeconfig) {
		everybody = append(everybody, n.apiServer())
	}
	if len(n.ControlPlane) > 0 {
		everybody = append(everybody, network.ControlPlane(n.ControlPlane))
	}
	for _, private := range n.PrivateRanges {
		to := network.Addresses(private)
		// The control plane may have a private address.
		everybody = append(everybody, network.To(to, network.Port("TCP", 443)))
		fetched = append(fetched, network.To(to, network.Ports(n.gitPorts()...)...))
	}
	return []NetworkPolicy{
		policy("strata", &metav1.LabelSelectorArgs{}, nil, everybody),
		policy("strata-builders", app("In", builders...), nil, networkingv1.NetworkPolicyEgressRuleArray{artifacts}),
		policy("strata-fetchers", app("NotIn", notFetchers...), nil, fetched),
		policy("strata-sources", app("In", "source-controller"), called(app("NotIn", "notification-controller")), nil),
		policy("strata-notification", app("In", "notification-controller"), called(&metav1.LabelSelectorArgs{}), notified),
	}
}

func policy(
	name string, pods *metav1.LabelSelectorArgs, in networkingv1.NetworkPolicyIngressRuleArray, out networkingv1.NetworkPolicyEgressRuleArray,
) NetworkPolicy {
	return NetworkPolicy{Name: name, Spec: &networkingv1.NetworkPolicySpecArgs{
		PodSelector: pods, PolicyTypes: pulumi.ToStringArray([]string{"Ingress", "Egress"}), Ingress: in, Egress: out,
	}}
}

// app selects Flux's pods by the names of their controllers.
func app(operator string, names ...string) *metav1.LabelSelectorArgs {
	return &metav1.LabelSelectorArgs{MatchExpressions: metav1.LabelSelectorRequirementArray{
		&metav1.LabelSelectorRequirementArgs{Key: pulumi.String("app"), Operator: pulumi.String(operator), Values: pulumi.ToStringArray(names)},
	}}
}

// pods selects the pods of one controller.
func pods(controller string) *networkingv1.NetworkPolicyPeerArgs {
	return &networkingv1.NetworkPolicyPeerArgs{PodSelector: app("In", controller)}
}

// called lets the selected pods of Flux's namespace connect to the service port.
func called(by *metav1.LabelSelectorArgs) networkingv1.NetworkPolicyIngressRuleArray {
	return networkingv1.NetworkPolicyIngressRuleArray{
		network.From(&networkingv1.NetworkPolicyPeerArgs{PodSelector: by}, network.Port("TCP", servicePort)),
	}
}

// apiServer lets pods connect to the API server's address in the kubeconfig.
func (n Network) apiServer() *networkingv1.NetworkPolicyEgressRuleArgs {
	at := pulumix.ApplyErr(n.Kubeconfig.ToStringOutput(), func(text string) (endpoint, error) {
		return apiEndpoint(text, len(n.PrivateRanges)+len(n.ControlPlane) > 0)
	})
	// The kubeconfig is a secret. The server's address is not: everybody in the cluster knows it.
	cidr := pulumi.Unsecret(pulumix.Cast[pulumi.StringOutput](pulumix.Apply(at, func(e endpoint) string { return e.cidr })))
	port := pulumi.Unsecret(pulumix.Cast[pulumi.IntOutput](pulumix.Apply(at, func(e endpoint) int { return e.port })))
	return network.To(network.Addresses(cidr.(pulumi.StringOutput)), &networkingv1.NetworkPolicyPortArgs{
		Protocol: pulumi.String("TCP"), Port: port.(pulumi.IntOutput),
	})
}

// endpoint is the address of an API server: a range of one address, and a port.
type endpoint struct {
	cidr string
	port int
}

// nowhere is an address that no host has (RFC 5737).
const nowhere = "192.0.2.0/32"

// apiEndpoint returns the address of the API server in the kubeconfig. A NetworkPolicy accepts no host names: if the
// kubeconfig has one, another rule must contain the server's address, which elsewhere reports. The result is then nowhere.
func apiEndpoint(text string, elsewhere bool) (endpoint, error) {
	k, err := kubeconfig.Parse(text)
	if err != nil {
		return endpoint{}, err
	}
	server, err := url.Parse(*k.Host)
	if err != nil {
		return endpoint{}, errors.New("the server of the kubeconfig is not a URL: correct clusters[].cluster.server")
	}
	port, err := strconv.Atoi(server.Port())
	if err != nil {
		port = 443
	}
	host := server.Hostname()
	if host == "localhost" {
		host = "127.0.0.1"
	}
	address, err := netip.ParseAddr(host)
	switch {
	case err == nil:
		return endpoint{netip.PrefixFrom(address, address.BitLen()).String(), port}, nil
	case elsewhere:
		return endpoint{nowhere, port}, nil
	}
	return endpoint{}, fmt.Errorf("the server of the kubeconfig is the host name %s, but a NetworkPolicy accepts addresses only: add the range of its address to PrivateRanges", host)
}

// gitPorts returns the ports of Git servers in private networks.
func (n Network) gitPorts() []int { return append([]int{22, 80, 443}, n.SourcePorts...) }
