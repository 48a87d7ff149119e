package network

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodeKey is a port at the address of the node in the pods' network.
type nodeKey struct {
	protocol corev1.Protocol
	port     uint16
}

// hostPort is the port of a pod behind a port of the node.
type hostPort struct {
	pod  types.NamespacedName
	port uint16
}

// addHostPorts adds the ports that a pod's containers ask for with hostPort. A hostIP other than the address of the node
// means an address that pods do not reach. The scheduler lets no two pods have the same port of a node.
func (v *view) addHostPorts(p *corev1.Pod, node netip.Addr) {
	name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, port := range c.Ports {
			if at, err := netip.ParseAddr(cmp.Or(port.HostIP, "0.0.0.0")); err != nil || !at.IsUnspecified() && at != node || port.HostPort == 0 {
				continue
			}
			v.hostPorts[nodeKey{cmp.Or(port.Protocol, corev1.ProtocolTCP), uint16(port.HostPort)}] = hostPort{name, uint16(port.ContainerPort)}
		}
	}
}

// nodeTargets returns the ends behind a port of the node: a node port of a Service, or a hostPort. A team chooses its
// hostPorts, so they must not replace node ports.
func (g *Gateway) nodeTargets(c client, request Request, protocol corev1.Protocol) ([]target, error) {
	v, at := g.view.Load(), request.Address
	if port := v.table.Node(protocol, at.Port()); port != nil {
		return g.serviceTargets(c, port, request)
	}
	asked, ok := v.hostPorts[nodeKey{protocol, at.Port()}]
	if !ok {
		return nil, &Rejected{at, "the gateway serves no such port"}
	}
	l := g.linkOf(asked.pod)
	if l == nil {
		return nil, &Rejected{at, "pod " + asked.pod.String() + " with this hostPort is not attached to the network"}
	}
	to := netip.AddrPortFrom(l.pod.IP, asked.port)
	return []target{{to: to, open: func(ctx context.Context) (net.Conn, error) {
		return l.dial(ctx, c, request.Network, asked.port)
	}}}, nil
}
