package loadbalancer

import (
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodePort is a node port of a Service. A change of any field needs another listener.
type nodePort struct {
	service      types.NamespacedName
	number, port uint16
}

// nodePorts returns the TCP node ports of a Service. Its load balancer may have them, too.
func nodePorts(s *corev1.Service) []nodePort {
	var found []nodePort
	for _, p := range s.Spec.Ports {
		if p.NodePort != 0 && isTCP(p) && s.DeletionTimestamp == nil {
			found = append(found, nodePort{nameOf(s), uint16(p.NodePort), uint16(p.Port)})
		}
	}
	return found
}

func isTCP(p corev1.ServicePort) bool { return p.Protocol == "" || p.Protocol == corev1.ProtocolTCP }

// serveNodePorts listens on the node ports of a Service. Its errors name the port and the way out.
func (c *controller) serveNodePorts(s *corev1.Service) []error {
	var errs []error
	for _, p := range nodePorts(s) {
		if c.nodePorts[p] != nil {
			continue
		}
		l, err := c.listenNodePort(p.number)
		if err != nil {
			// The node ports of a load balancer are a by-product, which the Service can do without.
			remedy := "set another nodePort"
			if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
				remedy = "set another nodePort, or allocateLoadBalancerNodePorts to false"
			}
			errs = append(errs, fmt.Errorf("node port %d of this machine is not available: %s, or end the program that uses it; the node tries again: %w", p.number, remedy, err))
			continue
		}
		c.nodePorts[p] = l
		c.accept(l, p.service, p.port)
	}
	return errs
}

func (c *controller) listenNodePort(number uint16) (net.Listener, error) {
	reserved, err := c.Reserved()
	if err != nil {
		return nil, err
	}
	for name, port := range reserved {
		if port == int(number) {
			return nil, fmt.Errorf("this home reserves the port for %s", name)
		}
	}
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(number))))
}
