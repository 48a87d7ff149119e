package network

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/network/networktest"
)

// resolver returns Go's resolver, over the network of a pod.
func resolver(pod *networktest.Pod, network string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return pod.Dial(ctx, network, netip.AddrPortFrom(dnsIP, dnsPort))
	}}
}

// hostile is the answer of an attacker's server: a public address, and one of the host.
func hostile(_ context.Context, query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	m.Response = true
	for _, a := range [][4]byte{{127, 0, 0, 1}, {1, 1, 1, 1}, {10, 96, 0, 1}} {
		m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET, TTL: 1},
			Body: &dnsmessage.AResource{A: a}})
	}
	return m.Pack()
}

func TestAPodResolvesNames(t *testing.T) {
	g := open(t, func(o *Options) { o.Upstream = hostile })
	one := attach(t, g, 2)
	web, endpoints := service("web", "10.96.1.1", 80, 80, corev1.ProtocolTCP, 2)
	g.Update(State{}.with(web, endpoints))
	for _, network := range []string{"udp", "tcp"} {
		for name, want := range map[string][]string{
			"web.default.svc.cluster.local.": {"10.96.1.1"},
			// The server drops the addresses of the host and of the cluster.
			"rebinding.example.com.": {"1.1.1.1"},
		} {
			if got, err := resolver(one, network).LookupHost(t.Context(), name); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s over %s: %v, %v; want %v", name, network, got, err, want)
			}
		}
	}
	if _, err := resolver(one, "udp").LookupHost(t.Context(), "none.default.svc.cluster.local."); err == nil {
		t.Error("a Service that does not exist has an address")
	}
}

func TestAPolicyRulesDNSAsInOtherClusters(t *testing.T) {
	g := open(t, nil)
	one := attach(t, g, 2)
	isolate := deny("isolate", "pod-2")
	isolate.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}
	web, endpoints := service("web", "10.96.1.1", 80, 80, corev1.ProtocolTCP, 2)
	state := State{Policies: []*networkingv1.NetworkPolicy{isolate}}.with(web, endpoints)
	g.Update(state)
	if _, err := resolver(one, "tcp").LookupHost(t.Context(), "web.default.svc.cluster.local."); err == nil {
		t.Error("a pod without egress resolves a name")
	}
	isolate.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "kube-system"}},
		PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"k8s-app": "kube-dns"}}}}}}
	g.Update(state)
	for _, network := range []string{"tcp", "udp"} {
		if _, err := resolver(one, network).LookupHost(t.Context(), "web.default.svc.cluster.local."); err != nil {
			t.Errorf("a pod with a rule for kube-dns, over %s: %v", network, err)
		}
	}
}
