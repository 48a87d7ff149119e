package network

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/local/machine/network/relay"
	"github.com/strata-platform/strata/operator/accept"
)

// Dial connects the host to a TCP port of a pod, for probes, port forwarding and the proxies of the API server.
// NetworkPolicies do not apply, as for a kubelet's connections.
func (g *Gateway) Dial(ctx context.Context, pod types.NamespacedName, port uint16) (net.Conn, error) {
	if l := g.linkOf(pod); l != nil {
		return l.dial(ctx, client{ip: g.options.Address}, "tcp", port)
	}
	return nil, fmt.Errorf("connect to port %d of pod %s: the pod is not attached to the network", port, pod)
}

// DialAddress connects the host to a TCP port at an address of a pod or a Service, for the API server. NetworkPolicies do
// not apply, as for Dial. The connection closes when ctx ends.
func (g *Gateway) DialAddress(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	if !g.options.Pods.Contains(to.Addr()) && !g.options.Services.Contains(to.Addr()) {
		return nil, &Rejected{to, "it is no address of a pod or a Service"}
	}
	f, conn, err := g.connect(ctx, client{ip: g.options.Address}, corev1.ProtocolTCP, to)
	if err != nil {
		return nil, err
	}
	return newOwned(g, f, conn), nil
}

// DialAs connects the host to a TCP address on behalf of a pod, for the pod's probes and hooks that name another host. The
// connection reaches what the pod reaches, and NetworkPolicies see the pod. It closes when a policy denies it, and when ctx
// ends.
func (g *Gateway) DialAs(ctx context.Context, pod types.NamespacedName, to netip.AddrPort) (net.Conn, error) {
	l := g.linkOf(pod)
	if l == nil {
		return nil, fmt.Errorf("connect to %s: pod %s is not attached to the network", to, pod)
	}
	f, conn, err := g.connect(ctx, client{l, l.pod.IP}, corev1.ProtocolTCP, to)
	if err != nil {
		return nil, err
	}
	return newOwned(g, f, conn), nil
}

// DialService connects the host to a TCP port of a Service, given by number or by name. For NetworkPolicies the client has
// the address `from`, such as that of a browser. If it is zero, the client is the node itself, and no policy applies. The connection closes when a policy denies
// it, and when ctx ends.
func (g *Gateway) DialService(ctx context.Context, service types.NamespacedName, port string, from netip.Addr) (net.Conn, error) {
	if !from.IsValid() {
		from = g.options.Address
	}
	for _, p := range g.view.Load().table.Ports(service) {
		if p.Protocol != corev1.ProtocolTCP || p.Name != port && strconv.Itoa(int(p.Number)) != port {
			continue
		}
		if len(p.Addresses) == 0 {
			return nil, fmt.Errorf("connect to Service %s: it is headless; connect to one of its pods", service)
		}
		f, conn, err := g.connect(ctx, client{ip: from}, corev1.ProtocolTCP, netip.AddrPortFrom(p.Addresses[0], p.Number))
		if err != nil {
			return nil, err
		}
		return newOwned(g, f, conn), nil
	}
	return nil, fmt.Errorf("connect to Service %s: it has no TCP port %q", service, port)
}

// begin registers a use of the gateway for which Close waits. It returns false after Close.
func (g *Gateway) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.serving.Add(1)
	}
	return !g.closed
}

// owned is a connection of the host that ends its flow when it closes.
type owned struct {
	net.Conn
	close func()
	// stop keeps the end of the flow from resetting a connection that closes in order.
	stop func() bool
}

func newOwned(g *Gateway, f *flow, conn net.Conn) *owned {
	stop := context.AfterFunc(f.ctx, func() { relay.Reset(conn) })
	return &owned{conn, func() { g.end(f) }, stop}
}

// Close implements net.Conn.
func (o *owned) Close() error {
	err := o.Conn.Close()
	o.stop()
	o.close()
	return err
}

// Abort resets the connection.
func (o *owned) Abort() {
	relay.Reset(o.Conn)
	o.close()
}

// CloseWrite ends the direction to the server. It closes the connection if the server's end knows no half-closed state.
func (o *owned) CloseWrite() error {
	if half, ok := o.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return o.Close()
}

// maxHostConnections bounds the open connections of each listener on the host.
const maxHostConnections = 1024

// Accept relays the connections of a listener on the host to a port of a Service, such as a node port or the port of a load
// balancer. It returns when the listener is closed; the end of the gateway closes it, too. For NetworkPolicies a client
// has its own address.
func (g *Gateway) Accept(l net.Listener, service types.NamespacedName, port uint16) {
	if !g.begin() {
		l.Close()
		return
	}
	defer g.serving.Done()
	accept.Loop{
		Places: maxHostConnections,
		Failed: func(err error) {
			g.options.Log.Error("accept a connection to a Service", "service", service.String(), "error", err)
		},
		Serve: func(ctx context.Context, conn net.Conn) {
			var from netip.Addr
			if a, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
				from = a.Addr().Unmap()
			}
			backend, err := g.DialService(ctx, service, strconv.Itoa(int(port)), from)
			if err != nil {
				g.options.Log.Warn("connect to a Service", "service", service.String(), "port", port, "error", err)
				return
			}
			relay.Streams(ctx, conn, backend)
		},
	}.Run(g.ctx, l)
}
