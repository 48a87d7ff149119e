package network

import (
	"context"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/local/machine/network/dns"
	"github.com/strata-platform/strata/internal/local/machine/network/policy"
	"github.com/strata-platform/strata/internal/local/machine/network/services"
)

// State contains the objects of the cluster that rule the network. The gateway does not modify them.
type State struct {
	Services       []*corev1.Service
	EndpointSlices []*discoveryv1.EndpointSlice
	Pods           []*corev1.Pod
	Namespaces     []*corev1.Namespace
	Policies       []*networkingv1.NetworkPolicy
}

// view is a State in the form in which the gateway uses it. It does not change.
type view struct {
	table      *services.Table
	zone       *dns.Zone
	policies   *policy.Set
	pods       map[types.NamespacedName]*corev1.Pod
	addresses  map[netip.Addr]*corev1.Pod
	namespaces map[string]labels.Set
	hostPorts  map[nodeKey]hostPort
}

func (g *Gateway) newView(s State) *view {
	v := &view{table: services.NewTable(s.Services, s.EndpointSlices), zone: dns.NewZone(g.options.Domain, s.Services, s.EndpointSlices),
		policies: policy.Compile(s.Policies), pods: map[types.NamespacedName]*corev1.Pod{},
		addresses: map[netip.Addr]*corev1.Pod{}, namespaces: map[string]labels.Set{}, hostPorts: map[nodeKey]hostPort{}}
	for _, n := range s.Namespaces {
		v.namespaces[n.Name] = n.Labels
	}
	for _, p := range s.Pods {
		v.pods[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = p
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if a, err := netip.ParseAddr(p.Status.PodIP); err == nil && !p.Spec.HostNetwork && !ended {
			v.addresses[a] = p
			v.addHostPorts(p, g.options.Address)
		}
	}
	return v
}

// Update replaces the state. It closes the connections that the new NetworkPolicies do not allow, and the UDP flows to
// endpoints that no longer serve.
func (g *Gateway) Update(s State) {
	v := g.newView(s)
	g.view.Store(v)
	g.mu.RLock()
	open := slices.Collect(maps.Keys(g.flows))
	g.mu.RUnlock()
	for _, f := range open {
		stale := f.port != nil && f.protocol == corev1.ProtocolUDP && !v.serves(f)
		if stale || g.allows(f.from, f.to.Addr(), f.protocol, f.to.Port()) != nil {
			f.cancel()
		}
	}
}

// serves reports whether a flow's endpoint is one of its Service.
func (v *view) serves(f *flow) bool {
	for _, p := range v.table.Ports(f.port.Service) {
		for _, e := range p.Endpoints {
			if p.Name == f.port.Name && e.Address == f.to {
				return true
			}
		}
	}
	return false
}

// flow is an open connection or UDP flow, as the NetworkPolicies see it.
type flow struct {
	from     netip.Addr
	to       netip.AddrPort
	protocol corev1.Protocol
	// port is the Service's port, if the client dialled a Service and its endpoint is a pod.
	port   *services.Port
	ctx    context.Context
	cancel context.CancelFunc
}

// register adds a flow. Update finds it from now on, so the caller checks the policies after this call.
func (g *Gateway) register(ctx context.Context, f *flow) {
	f.ctx, f.cancel = context.WithCancel(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.flows[f] = struct{}{}
}

// end removes a flow.
func (g *Gateway) end(f *flow) {
	f.cancel()
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.flows, f)
}

// allows returns nil if the NetworkPolicies allow a connection. The connections of the gateway's own address are those of
// the node, which no policy denies (Kubernetes, "Network Policies": "traffic to and from the node where a Pod is running is
// always allowed").
func (g *Gateway) allows(from, to netip.Addr, protocol corev1.Protocol, port uint16) error {
	if from == g.options.Address {
		return nil
	}
	v := g.view.Load()
	return v.policies.Allows(g.peer(v, from), g.peer(v, to), protocol, port)
}

// peer describes an address to the policies. The link decides which pod has an address, not the pod's status, which
// others may write.
func (g *Gateway) peer(v *view, a netip.Addr) policy.Peer {
	found := policy.Peer{IP: a}
	pod := v.addresses[a]
	if l := g.linkAt(a); l != nil {
		found.Namespace, found.Name, found.Labels = l.pod.Namespace, l.pod.Name, l.pod.Labels
		if pod = v.pods[l.pod.key()]; pod != nil && l.pod.UID != "" && pod.UID != l.pod.UID {
			pod = nil
		}
	}
	if a == g.options.DNS {
		found.Namespace, found.Labels = metav1.NamespaceSystem, labels.Set{"k8s-app": "kube-dns"}
	}
	if pod != nil {
		found.Namespace, found.Name, found.Labels = pod.Namespace, pod.Name, pod.Labels
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			found.Ports = append(found.Ports, c.Ports...)
		}
	}
	found.NamespaceLabels = v.namespaces[found.Namespace]
	return found
}
