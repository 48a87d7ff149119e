package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/local/machine/network/relay"
)

// Dial connects the host to a TCP port of a pod, for probes, port forwarding and the proxies of the API server.
// NetworkPolicies do not apply, as for a kubelet's connections.
func (g *Gateway) Dial(ctx context.Context, pod types.NamespacedName, port uint16) (net.Conn, error) {
	if l := g.linkOf(pod); l != nil {
		return l.dial(ctx, client{ip: g.options.Address}, "tcp", port)
	}
	return nil, fmt.Errorf("connect to port %d of pod %s: the pod is not attached to the network", port, pod)
}

// DialService connects the host to a TCP port of a Service, given by number or by name. For NetworkPolicies the client has
// the address `from`, such as that of a browser, or the gateway's if it is zero. The connection closes when a policy denies
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

const (
	// maxHostConnections bounds the open connections of each listener on the host.
	maxHostConnections = 1024
	// acceptPause is the wait after a failed accept.
	acceptPause = 100 * time.Millisecond
)

// listen opens and closes the listeners of node ports and load balancers.
func (g *Gateway) listen(v *view) {
	if g.options.Listen == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	wanted := map[string]bool{}
	for p := range v.table.All {
		if p.Protocol != corev1.ProtocolTCP || p.NodePort == 0 && !p.LoadBalancer {
			continue
		}
		// A change of any of these fields needs another listener.
		name := fmt.Sprintf("%s/%s:%d:%d:%t", p.Service, p.Name, p.Number, p.NodePort, p.LoadBalancer)
		wanted[name] = true
		if g.listeners[name] != nil {
			continue
		}
		l, err := g.options.Listen(*p)
		if err != nil {
			g.options.Log.Error("listen for a Service", "service", p.Service.String(), "port", p.Number, "error", err)
			continue
		}
		g.listeners[name] = l
		g.serving.Go(func() { g.accept(l, p.Service, p.Number) })
	}
	for name, l := range g.listeners {
		if !wanted[name] {
			l.Close()
			delete(g.listeners, name)
		}
	}
}

// accept relays the connections of one listener to a Service until the listener is closed.
func (g *Gateway) accept(l net.Listener, service types.NamespacedName, port uint16) {
	slots := make(chan struct{}, maxHostConnections)
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) || g.ctx.Err() != nil {
			return
		}
		if err != nil {
			g.options.Log.Error("accept a connection to a Service", "service", service.String(), "error", err)
			// The process may be out of descriptors for a while.
			select {
			case <-time.After(acceptPause):
			case <-g.ctx.Done():
			}
			continue
		}
		select {
		case slots <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		g.serving.Go(func() {
			defer func() { <-slots }()
			defer conn.Close()
			var from netip.Addr
			if a, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
				from = a.Addr().Unmap()
			}
			backend, err := g.DialService(g.ctx, service, strconv.Itoa(int(port)), from)
			if err != nil {
				g.options.Log.Warn("connect to a Service", "service", service.String(), "port", port, "error", err)
				return
			}
			relay.Streams(g.ctx, conn, backend)
		})
	}
}
