package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/network/services"
)

// maxAttempts bounds the endpoints of a Service that a connection tries.
const maxAttempts = 3

// Rejected is the error of a connection to an address that nothing serves.
type Rejected struct {
	Address netip.AddrPort
	// Reason is a clause: why nothing serves the address.
	Reason string
}

// Error names the address and the reason.
func (r *Rejected) Error() string { return fmt.Sprintf("connect to %s: %s", r.Address, r.Reason) }

// target is an end of a connection that the gateway can open.
type target struct {
	// to is what the NetworkPolicies see. It has the address of the Service if a backend serves that.
	to netip.AddrPort
	// open connects. It runs after the policies have allowed the connection.
	open func(ctx context.Context) (net.Conn, error)
	// port and endpoint are those of a Service with pods behind it.
	port     *services.Port
	endpoint services.Endpoint
}

// client is the origin of a connection: a pod, or an address of the host.
type client struct {
	link *link
	ip   netip.Addr
}

func (c client) pod() Pod {
	if c.link == nil {
		return Pod{}
	}
	return c.link.pod
}

// targets returns the ends behind an address, in the order in which the gateway tries them. This is the allow-list:
// every other address is an error.
func (g *Gateway) targets(c client, protocol corev1.Protocol, to netip.AddrPort) ([]target, error) {
	request := Request{Pod: c.pod(), Network: networks[protocol], Address: to, Endpoint: to}
	if b := g.addressBackend(to); b != nil {
		return []target{backendTarget(b, to, request)}, nil
	}
	table := g.view.Load().table
	if port := table.Lookup(protocol, to); port != nil {
		return g.serviceTargets(c, port, request)
	}
	if service, ok := table.Owner(to.Addr()); ok && to.Addr() != g.options.DNS {
		return nil, &Rejected{to, fmt.Sprintf("Service %s has no port %d/%s", service, to.Port(), protocol)}
	}
	if to.Addr() == g.options.DNS && to.Port() == dnsPort && protocol == corev1.ProtocolTCP {
		return []target{backendTarget(g.resolver, to, request)}, nil
	}
	switch {
	case to.Addr() == g.options.Address:
		return g.nodeTargets(c, request, protocol)
	case to.Addr() == g.options.DNS:
		return nil, &Rejected{to, "the gateway serves no such port"}
	case g.options.Pods.Contains(to.Addr()):
		t, err := g.podTarget(c, services.Endpoint{Address: to}, request)
		if err != nil {
			return nil, err
		}
		return []target{t}, nil
	case g.options.Services.Contains(to.Addr()):
		return nil, &Rejected{to, "no Service has this address"}
	}
	if err := g.options.Outside.Check(to.Addr()); err != nil {
		return nil, err
	}
	return []target{{to: to, open: func(ctx context.Context) (net.Conn, error) {
		return g.options.Outside.Dial(ctx, request.Network, to)
	}}}, nil
}

func backendTarget(b Backend, to netip.AddrPort, request Request) target {
	return target{to: to, open: func(ctx context.Context) (net.Conn, error) { return b(ctx, request) }}
}

func (g *Gateway) serviceTargets(c client, port *services.Port, request Request) ([]target, error) {
	request.Service, request.Port = port.Service, port.Name
	if b := g.backend(port.Service); b != nil {
		return []target{backendTarget(b, request.Address, request)}, nil
	}
	var found []target
	errs := []error{&Rejected{request.Address, fmt.Sprintf("Service %s has no ready endpoint for port %d", port.Service, port.Number)}}
	for _, e := range g.balancer.Order(port, c.ip) {
		t, err := g.podTarget(c, e, request)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		t.port, t.endpoint = port, e
		found = append(found, t)
	}
	if len(found) == 0 {
		return nil, errors.Join(errs...)
	}
	return found[:min(len(found), maxAttempts)], nil
}

// podTarget returns the end at the address of a pod: its link, or its backend.
func (g *Gateway) podTarget(c client, e services.Endpoint, request Request) (target, error) {
	if l := g.linkAt(e.Address.Addr()); l != nil {
		return target{to: e.Address, open: func(ctx context.Context) (net.Conn, error) {
			return l.dial(ctx, c, request.Network, e.Address.Port())
		}}, nil
	}
	key := e.Pod
	if pod := g.view.Load().addresses[e.Address.Addr()]; pod != nil && key.Name == "" {
		key.Namespace, key.Name = pod.Namespace, pod.Name
	}
	if b := g.backend(servedPod(key)); b != nil {
		request.Endpoint = e.Address
		return backendTarget(b, e.Address, request), nil
	}
	if g.options.Pods.Contains(e.Address.Addr()) || g.options.Services.Contains(e.Address.Addr()) {
		return target{}, &Rejected{e.Address, "no pod with this address is attached"}
	}
	// A Service without a selector may have endpoints outside the cluster.
	if err := g.options.Outside.Check(e.Address.Addr()); err != nil {
		return target{}, err
	}
	return target{to: e.Address, open: func(ctx context.Context) (net.Conn, error) {
		return g.options.Outside.Dial(ctx, request.Network, e.Address)
	}}, nil
}

// connect opens a connection for a client, and registers it as a flow. The caller ends the flow and closes the connection.
func (g *Gateway) connect(ctx context.Context, c client, protocol corev1.Protocol, to netip.AddrPort) (*flow, net.Conn, error) {
	targets, err := g.targets(c, protocol, to)
	if err != nil {
		return nil, nil, err
	}
	var errs []error
	for _, t := range targets {
		f := &flow{from: c.ip, to: t.to, protocol: protocol, port: t.port}
		g.register(ctx, f)
		conn, err := g.open(f, t)
		if err == nil {
			if t.port != nil {
				g.balancer.Keep(t.port, c.ip, t.endpoint)
			}
			return f, conn, nil
		}
		g.end(f)
		errs = append(errs, err)
	}
	return nil, nil, errors.Join(errs...)
}

func (g *Gateway) open(f *flow, t target) (net.Conn, error) {
	if err := g.allows(f.from, f.to.Addr(), f.protocol, f.to.Port()); err != nil {
		return nil, err
	}
	conn, err := t.open(f.ctx)
	if err == nil && f.ctx.Err() != nil {
		conn.Close()
		err = f.ctx.Err()
	}
	return conn, err
}
