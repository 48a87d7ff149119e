// Package network is the network of the pods: a gateway in user space at which every pod has one link. The gateway
// terminates the connections of pods and opens those that the rules allow; no packet passes from one pod to another, or
// to the host.
package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/local/machine/network/dns"
	"github.com/strata-platform/strata/internal/local/machine/network/outside"
	"github.com/strata-platform/strata/internal/local/machine/network/services"
)

// MTU is the length, in bytes, of the largest packet on the links. The pods' interfaces need the same MTU. Large packets
// make the links fast, and nothing between the ends needs smaller ones.
const MTU = 65000

// Limits bounds the resources of one pod. A field of 0 means the default.
type Limits struct {
	// Connections is the number of open TCP connections that the pod started; default 1024. The gateway resets others.
	Connections int
	// Dials is the number of TCP connections in the process of opening; default 128. The gateway ignores others, and the
	// pod repeats them.
	Dials int
	// Datagrams is the number of UDP flows that the pod started; default 512. A new flow ends the least recently used one.
	Datagrams int
	// Queries is the number of DNS queries that the gateway answers at once; default 64. Others wait.
	Queries int
	// ICMP is the number of ICMP and ARP packets in a second; default 100. The gateway drops others.
	ICMP int
}

func (l Limits) withDefaults() Limits {
	return Limits{cmp.Or(l.Connections, 1024), cmp.Or(l.Dials, 128), cmp.Or(l.Datagrams, 512), cmp.Or(l.Queries, 64), cmp.Or(l.ICMP, 100)}
}

// Options configures a Gateway.
type Options struct {
	// Address is the gateway's own IPv4 address in Pods, from which probes and connections from the host arrive. Required.
	Address netip.Addr
	// MAC is the gateway's link address on every link. Zero means 02:00:00:00:00:01.
	MAC net.HardwareAddr
	// Pods and Services are the ranges of the pods' and the Services' IPv4 addresses. A connection to an unknown address in
	// them is rejected, and never leaves the cluster. Required.
	Pods, Services netip.Prefix
	// DNS is the address in Services at which the gateway answers DNS queries. For NetworkPolicies this address is a pod of
	// namespace kube-system with the label k8s-app=kube-dns, as in other clusters. Zero means no DNS.
	DNS netip.Addr
	// Domain is the cluster's domain. Empty means cluster.local.
	Domain string
	// Upstream resolves names outside the cluster. Nil means the resolvers in the host's /etc/resolv.conf.
	Upstream dns.Upstream
	// Names maps names outside the cluster, in lower case with a dot at the end, to the addresses with which the DNS server
	// answers. ServeAddress gives these addresses a meaning.
	Names map[string]netip.Addr
	// Outside is the allow-list of addresses outside the cluster.
	Outside outside.Rules
	// Limits bounds each pod.
	Limits Limits
	// Log is required.
	Log *slog.Logger
}

// Gateway connects the pods. Its methods may be called concurrently.
type Gateway struct {
	options  Options
	dns      *dns.Server
	balancer services.Balancer
	view     atomic.Pointer[view]
	ctx      context.Context
	cancel   context.CancelFunc

	mu       sync.RWMutex
	closed   bool
	links    map[netip.Addr]*link
	names    map[types.NamespacedName]*link
	backends map[any]Backend
	flows    map[*flow]struct{}
	reserved map[netip.Addr]bool
	// lastReserved is the address that Reserve returned last.
	lastReserved netip.Addr
	serving      sync.WaitGroup
}

// New returns a gateway without pods. The caller must close it.
func New(o Options) (*Gateway, error) {
	var errs []error
	if !o.Pods.IsValid() || !o.Pods.Addr().Is4() || !o.Services.IsValid() || !o.Services.Addr().Is4() || o.Pods.Overlaps(o.Services) {
		errs = append(errs, fmt.Errorf("pods %s and services %s must be IPv4 ranges that do not overlap", o.Pods, o.Services))
	}
	if !o.Address.IsValid() || !o.Pods.Contains(o.Address) {
		errs = append(errs, fmt.Errorf("gateway address %s must be in the range of the pods, %s", o.Address, o.Pods))
	}
	if o.DNS.IsValid() && !o.Services.Contains(o.DNS) {
		errs = append(errs, fmt.Errorf("DNS address %s must be in the range of the services, %s", o.DNS, o.Services))
	}
	if o.Log == nil {
		errs = append(errs, errors.New("a log is required"))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("create the pods' network: %w", errors.Join(errs...))
	}
	if o.MAC == nil {
		o.MAC = net.HardwareAddr{2, 0, 0, 0, 0, 1}
	}
	if o.Upstream == nil {
		o.Upstream = dns.Host("/etc/resolv.conf")
	}
	o.Domain = cmp.Or(o.Domain, "cluster.local")
	o.Limits = o.Limits.withDefaults()
	g := &Gateway{options: o, links: map[netip.Addr]*link{}, names: map[types.NamespacedName]*link{}, backends: map[any]Backend{}, reserved: map[netip.Addr]bool{},
		flows: map[*flow]struct{}{}}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.dns = &dns.Server{Zone: func() *dns.Zone { return g.view.Load().zone }, Names: o.Names, Upstream: o.Upstream, Allowed: g.allowedAnswer}
	g.view.Store(g.newView(State{}))
	return g, nil
}

// allowedAnswer checks an address in the answer to a query for a name outside the cluster.
func (g *Gateway) allowedAnswer(a netip.Addr) error {
	if g.options.Pods.Contains(a) || g.options.Services.Contains(a) {
		return &outside.Denied{Address: a, Reason: "an address of the cluster"}
	}
	return g.options.Outside.Check(a)
}

// linkAt returns the link of the pod with an address, or nil.
func (g *Gateway) linkAt(a netip.Addr) *link {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.links[a]
}

// linkOf returns the link of a pod, or nil.
func (g *Gateway) linkOf(pod types.NamespacedName) *link {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.names[pod]
}

// Close detaches all pods, closes all connections and the listeners of Accept, and waits for them.
func (g *Gateway) Close() {
	g.cancel()
	g.mu.Lock()
	g.closed = true
	links := make([]*link, 0, len(g.links))
	for _, l := range g.links {
		links = append(links, l)
	}
	g.mu.Unlock()
	for _, l := range links {
		g.remove(l)
	}
	g.serving.Wait()
}

// networks names the networks of package net.
var networks = map[corev1.Protocol]string{corev1.ProtocolTCP: "tcp", corev1.ProtocolUDP: "udp"}

// Address returns the gateway's own address.
func (g *Gateway) Address() netip.Addr { return g.options.Address }

// MAC returns the gateway's link address.
func (g *Gateway) MAC() net.HardwareAddr { return g.options.MAC }

// DNS returns the address at which the gateway answers DNS queries.
func (g *Gateway) DNS() netip.Addr { return g.options.DNS }

// Pods returns the range of the pods' addresses.
func (g *Gateway) Pods() netip.Prefix { return g.options.Pods }
