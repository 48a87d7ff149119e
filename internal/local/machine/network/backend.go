package network

import (
	"context"
	"net"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
)

// Backend connects a pod to a server of the host that serves in place of pods. Its context ends with the connection.
type Backend func(ctx context.Context, r Request) (net.Conn, error)

// Request describes a connection to a Backend.
type Request struct {
	// Pod is the pod that connects. It is empty for connections from the host.
	Pod Pod
	// Network is tcp or udp.
	Network string
	// Address is the address that the client dialled, and Endpoint the endpoint behind it if that is a Service.
	Address, Endpoint netip.AddrPort
	// Service and Port name the Service and its port, if the client dialled one.
	Service types.NamespacedName
	Port    string
}

// ServeService makes a backend serve all ports of a Service, in place of its endpoints. NetworkPolicies see the dialled
// address. A nil backend ends this for new connections.
func (g *Gateway) ServeService(service types.NamespacedName, b Backend) { g.serve(service, b) }

// ServeAddress makes a backend serve an address, such as 169.254.169.254:80 for the metadata server. A nil backend ends
// this for new connections.
func (g *Gateway) ServeAddress(address netip.AddrPort, b Backend) { g.serve(address, b) }

// ServeRange makes a backend serve a port of all addresses of a range outside the cluster. A nil backend ends this for new
// connections.
func (g *Gateway) ServeRange(addresses netip.Prefix, port uint16, b Backend) {
	g.serve(servedRange{addresses.Masked(), port}, b)
}

// servedRange is the key of a range's backend.
type servedRange struct {
	addresses netip.Prefix
	port      uint16
}

// addressBackend returns the backend of an address, or nil.
func (g *Gateway) addressBackend(a netip.AddrPort) Backend {
	if b := g.backend(a); b != nil {
		return b
	}
	for bits := range a.Addr().BitLen() {
		if b := g.backend(servedRange{netip.PrefixFrom(a.Addr(), bits).Masked(), a.Port()}); b != nil {
			return b
		}
	}
	return nil
}

// servedPod is the key of a pod's backend.
type servedPod types.NamespacedName

// ServePod makes a backend serve the address of a pod that runs without a link, as a process of the host. NetworkPolicies
// see the pod. A nil backend ends this for new connections.
func (g *Gateway) ServePod(pod types.NamespacedName, b Backend) { g.serve(servedPod(pod), b) }

func (g *Gateway) serve(key any, b Backend) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if b == nil {
		delete(g.backends, key)
		return
	}
	g.backends[key] = b
}

// backend returns the backend of a key, or nil.
func (g *Gateway) backend(key any) Backend {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.backends[key]
}
