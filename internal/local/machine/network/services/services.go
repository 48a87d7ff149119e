// Package services finds the endpoints behind the addresses of Services.
package services

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Table maps the addresses of Services to their endpoints. It does not change, so goroutines may share it. Its zero
// value is empty.
type Table struct {
	ports     map[key]*Port
	addresses map[netip.Addr]types.NamespacedName
	named     map[types.NamespacedName][]*Port
}

type key struct {
	address  netip.Addr
	protocol corev1.Protocol
	port     uint16
}

// A Port is one port of a Service.
type Port struct {
	Service  types.NamespacedName
	Name     string
	Protocol corev1.Protocol
	// Number is the Service's port, and NodePort its port on the node, or 0.
	Number, NodePort uint16
	// Addresses are the cluster IP, the external IPs, and the addresses of the load balancer.
	Addresses []netip.Addr
	// LoadBalancer reports whether the Service is of type LoadBalancer.
	LoadBalancer bool
	// Affinity is how long a client keeps its endpoint, or 0.
	Affinity time.Duration
	// Endpoints are the ready endpoints, or all if the Service publishes addresses that are not ready.
	Endpoints []Endpoint
}

// An Endpoint is an address that serves a port of a Service.
type Endpoint struct {
	Address netip.AddrPort
	// Pod is the pod behind the address, or empty.
	Pod types.NamespacedName
}

// NewTable returns the table for the Services and EndpointSlices of a cluster. It skips IPv6 addresses: pods have none.
func NewTable(services []*corev1.Service, slicesOf []*discoveryv1.EndpointSlice) *Table {
	t := &Table{map[key]*Port{}, map[netip.Addr]types.NamespacedName{}, map[types.NamespacedName][]*Port{}}
	byService := map[types.NamespacedName][]*discoveryv1.EndpointSlice{}
	for _, s := range slicesOf {
		if s.AddressType == discoveryv1.AddressTypeIPv4 {
			name := types.NamespacedName{Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]}
			byService[name] = append(byService[name], s)
		}
	}
	for _, service := range services {
		if service.Spec.Type != corev1.ServiceTypeExternalName {
			t.add(service, byService[types.NamespacedName{Namespace: service.Namespace, Name: service.Name}])
		}
	}
	return t
}

func (t *Table) add(service *corev1.Service, endpoints []*discoveryv1.EndpointSlice) {
	name := types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
	addresses := addressesOf(service)
	for _, a := range addresses {
		t.addresses[a] = name
	}
	for _, p := range service.Spec.Ports {
		port := &Port{Service: name, Name: p.Name, Protocol: cmp.Or(p.Protocol, corev1.ProtocolTCP), Number: uint16(p.Port),
			NodePort: uint16(p.NodePort), Addresses: addresses, LoadBalancer: service.Spec.Type == corev1.ServiceTypeLoadBalancer,
			Affinity: affinity(service), Endpoints: ready(service, p, endpoints)}
		t.named[name] = append(t.named[name], port)
		if port.NodePort != 0 {
			t.ports[nodeKey(port.Protocol, port.NodePort)] = port
		}
		for _, a := range addresses {
			t.ports[key{a, port.Protocol, port.Number}] = port
		}
	}
}

// addressesOf returns every IPv4 address of a Service.
func addressesOf(service *corev1.Service) []netip.Addr {
	texts := append([]string{service.Spec.ClusterIP}, service.Spec.ClusterIPs...)
	texts = append(texts, service.Spec.ExternalIPs...)
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		texts = append(texts, ingress.IP)
	}
	var found []netip.Addr
	for _, text := range texts {
		// A headless Service has the address "None".
		if a, err := netip.ParseAddr(text); err == nil && a.Is4() && !slices.Contains(found, a) {
			found = append(found, a)
		}
	}
	return found
}

// affinity returns how long a client keeps its endpoint. The API server's default is three hours.
func affinity(service *corev1.Service) time.Duration {
	if service.Spec.SessionAffinity != corev1.ServiceAffinityClientIP {
		return 0
	}
	if c := service.Spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
		return time.Duration(*c.ClientIP.TimeoutSeconds) * time.Second
	}
	return time.Duration(corev1.DefaultClientIPServiceAffinitySeconds) * time.Second
}

// ready returns the endpoints of a port. EndpointSlices contain target ports by number, one slice for each number, so a
// named target port may differ between pods.
func ready(service *corev1.Service, port corev1.ServicePort, all []*discoveryv1.EndpointSlice) []Endpoint {
	var found []Endpoint
	for _, s := range all {
		for _, p := range s.Ports {
			if value(p.Name) != port.Name || p.Port == nil || cmp.Or(value(p.Protocol), corev1.ProtocolTCP) != cmp.Or(port.Protocol, corev1.ProtocolTCP) {
				continue
			}
			for _, e := range s.Endpoints {
				found = append(found, addresses(service, e, uint16(*p.Port))...)
			}
		}
	}
	slices.SortFunc(found, func(a, b Endpoint) int { return a.Address.Compare(b.Address) })
	return slices.Compact(found)
}

func addresses(service *corev1.Service, e discoveryv1.Endpoint, port uint16) []Endpoint {
	if !IsReady(service, e) {
		return nil
	}
	var pod types.NamespacedName
	if e.TargetRef != nil && e.TargetRef.Kind == "Pod" {
		pod = types.NamespacedName{Namespace: cmp.Or(e.TargetRef.Namespace, service.Namespace), Name: e.TargetRef.Name}
	}
	var found []Endpoint
	for _, text := range e.Addresses {
		if a, err := netip.ParseAddr(text); err == nil {
			found = append(found, Endpoint{netip.AddrPortFrom(a, port), pod})
		}
	}
	return found
}

// IsReady reports whether a Service sends connections to an endpoint. A missing condition means ready
// (EndpointConditions).
func IsReady(service *corev1.Service, e discoveryv1.Endpoint) bool {
	return service.Spec.PublishNotReadyAddresses || e.Conditions.Ready == nil || *e.Conditions.Ready
}

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// Lookup returns the Service's port behind an address, or nil.
func (t *Table) Lookup(protocol corev1.Protocol, address netip.AddrPort) *Port {
	return t.ports[key{address.Addr(), protocol, address.Port()}]
}

// Node returns the Service's port behind a node port, or nil.
func (t *Table) Node(protocol corev1.Protocol, port uint16) *Port {
	return t.ports[nodeKey(protocol, port)]
}

// nodeKey returns the key of a node port, which belongs to no address of a Service.
func nodeKey(protocol corev1.Protocol, port uint16) key { return key{netip.Addr{}, protocol, port} }

// Owner returns the Service with an address.
func (t *Table) Owner(address netip.Addr) (types.NamespacedName, bool) {
	name, ok := t.addresses[address]
	return name, ok
}

// Ports returns the ports of a Service, in the order of its spec.
func (t *Table) Ports(service types.NamespacedName) []*Port { return t.named[service] }

// All calls yield for each port of each Service, in no order, until it returns false.
func (t *Table) All(yield func(*Port) bool) {
	for _, ports := range t.named {
		for _, p := range ports {
			if !yield(p) {
				return
			}
		}
	}
}
