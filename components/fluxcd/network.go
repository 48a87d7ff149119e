package fluxcd

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

	"github.com/strata-platform/strata/components/internal/network"
)

// servicePort is the port of source-controller's artifacts and of notification-controller's events.
const servicePort = 9090

// Labels of Flux's pods.
var (
	// builders build and apply the teams' commits, which can name any address.
	builders = []string{"kustomize-controller", "helm-controller"}
	// notFetchers are the controllers that fetch nothing from outside the cluster.
	notFetchers = append([]string{"notification-controller"}, builders...)
)

// wall is one NetworkPolicy in Flux's namespace.
type wall struct {
	name    string
	pods    *metav1.LabelSelectorArgs
	ingress networkingv1.NetworkPolicyIngressRuleArray
	egress  networkingv1.NetworkPolicyEgressRuleArray
}

// walls creates NetworkPolicies that limit Flux's pods to the connections that each of them needs. They replace Flux's
// own allow-egress, which lets every pod connect to any address and to the other pods. kustomize fetches files by HTTP in
// spite of --no-remote-bases.
func (a *Args) walls(ctx *pulumi.Context, name string, namespace pulumi.StringInput, parent pulumi.Resource) ([]pulumi.Resource, error) {
	events := network.To(pods("notification-controller"), network.Port("TCP", servicePort))
	artifacts := network.To(pods("source-controller"), network.Port("TCP", servicePort))
	fetched, notified := networkingv1.NetworkPolicyEgressRuleArray{artifacts, network.Public()}, networkingv1.NetworkPolicyEgressRuleArray{network.Public()}
	everybody := networkingv1.NetworkPolicyEgressRuleArray{network.NameService(), events}
	if a.Kubeconfig != nil {
		everybody = append(everybody, a.apiServer())
	}
	for _, private := range a.PrivateRanges {
		to := network.Addresses(pulumi.String(private))
		// The control plane, where it has a private address.
		everybody = append(everybody, network.To(to, network.Port("TCP", 443)))
		fetched = append(fetched, network.To(to, network.Ports(a.gitPorts()...)...))
	}
	var made []pulumi.Resource
	for _, each := range []wall{
		{name: "strata", pods: &metav1.LabelSelectorArgs{}, egress: everybody},
		{name: "strata-builders", pods: app("In", builders...), egress: networkingv1.NetworkPolicyEgressRuleArray{artifacts}},
		{name: "strata-fetchers", pods: app("NotIn", notFetchers...), egress: fetched},
		{name: "strata-sources", pods: app("In", "source-controller"), ingress: called(app("NotIn", "notification-controller"))},
		{
			name: "strata-notification", pods: app("In", "notification-controller"), egress: notified,
			ingress: called(&metav1.LabelSelectorArgs{}),
		},
	} {
		policy, err := networkingv1.NewNetworkPolicy(ctx, name+"-"+each.name, &networkingv1.NetworkPolicyArgs{
			Metadata: metadata(namespace, pulumi.String(each.name)),
			Spec: &networkingv1.NetworkPolicySpecArgs{
				PodSelector: each.pods, PolicyTypes: pulumi.ToStringArray([]string{"Ingress", "Egress"}), Ingress: each.ingress, Egress: each.egress,
			},
		}, pulumi.Parent(parent))
		if err != nil {
			return nil, err
		}
		made = append(made, policy)
	}
	return made, nil
}

// app selects Flux's pods by the names of their controllers.
func app(operator string, names ...string) *metav1.LabelSelectorArgs {
	return &metav1.LabelSelectorArgs{MatchExpressions: metav1.LabelSelectorRequirementArray{
		&metav1.LabelSelectorRequirementArgs{Key: pulumi.String("app"), Operator: pulumi.String(operator), Values: pulumi.ToStringArray(names)},
	}}
}

func pods(controller string) *networkingv1.NetworkPolicyPeerArgs {
	return &networkingv1.NetworkPolicyPeerArgs{PodSelector: app("In", controller)}
}

func called(by *metav1.LabelSelectorArgs) networkingv1.NetworkPolicyIngressRuleArray {
	return networkingv1.NetworkPolicyIngressRuleArray{
		network.From(&networkingv1.NetworkPolicyPeerArgs{PodSelector: by}, network.Port("TCP", servicePort)),
	}
}

// apiServer lets pods connect to the API server's address in the kubeconfig.
func (a *Args) apiServer() *networkingv1.NetworkPolicyEgressRuleArgs {
	at := pulumix.ApplyErr(a.Kubeconfig.ToStringOutput(), func(text string) (endpoint, error) {
		return apiEndpoint(text, len(a.PrivateRanges) > 0)
	})
	// The kubeconfig is a secret. The server's address is not: everybody in the cluster knows it.
	cidr := pulumi.Unsecret(pulumix.Cast[pulumi.StringOutput](pulumix.Apply(at, func(e endpoint) string { return e.cidr })))
	port := pulumi.Unsecret(pulumix.Cast[pulumi.IntOutput](pulumix.Apply(at, func(e endpoint) int { return e.port })))
	return network.To(network.Addresses(cidr.(pulumi.StringOutput)), &networkingv1.NetworkPolicyPortArgs{
		Protocol: pulumi.String("TCP"), Port: port.(pulumi.IntOutput),
	})
}

type endpoint struct {
	cidr string
	port int
}

// nowhere is an address that no host has (RFC 5737).
const nowhere = "192.0.2.0/32"

// apiEndpoint returns the address of the API server. A NetworkPolicy accepts no host names: if the kubeconfig has one,
// the private ranges must contain the server's address.
func apiEndpoint(kubeconfig string, elsewhere bool) (endpoint, error) {
	k, err := parseKubeconfig(kubeconfig)
	if err != nil {
		return endpoint{}, err
	}
	server, err := url.Parse(*k.Host)
	if err != nil {
		return endpoint{}, errors.New("the kubeconfig's server is no URL")
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
	return endpoint{}, fmt.Errorf("the kubeconfig's server is %s: Flux's pods reach it by its address, so give PrivateRanges the one that pods see", host)
}

// gitPorts returns the ports of Git servers in private networks.
func (a *Args) gitPorts() []int { return append([]int{22, 80, 443}, a.SourcePorts...) }
