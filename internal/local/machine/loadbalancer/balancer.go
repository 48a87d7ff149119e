package loadbalancer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

const (
	// attempts bounds the addresses that a load balancer tries.
	attempts = 20
	// firstUnprivileged is the first port that every user may use, by default, and unprivileged is added to a lower one.
	firstUnprivileged, unprivileged = 1024, 8000
)

// balancer is the load balancer of a Service.
type balancer struct {
	// ports describes the Service's ports. Other ones need another balancer.
	ports     string
	address   netip.Addr
	listeners []net.Listener
}

func (b *balancer) close() {
	for _, l := range b.listeners {
		l.Close()
	}
}

// describe describes the ports of a Service.
func describe(s *corev1.Service) string {
	var b strings.Builder
	for _, p := range balancedPorts(s) {
		fmt.Fprintf(&b, "%d,", p)
	}
	return b.String()
}

// balancedPorts returns the TCP ports of a Service. Its UDP ports are not served.
func balancedPorts(s *corev1.Service) []uint16 {
	var ports []uint16
	for _, p := range s.Spec.Ports {
		if isTCP(p) {
			ports = append(ports, uint16(p.Port))
		}
	}
	return ports
}

// serveBalancer listens on the ports of a Service, all on one address: the one in its status, or a free one.
func (c *controller) serveBalancer(s *corev1.Service) error {
	name := nameOf(s)
	ports := balancedPorts(s)
	if c.balancers[name] != nil || len(ports) == 0 {
		return nil
	}
	b, err := c.open(s, ports)
	if err != nil {
		return fmt.Errorf("the load balancer has no address: %w", err)
	}
	b.ports = describe(s)
	c.balancers[name] = b
	for i, l := range b.listeners {
		c.accept(l, name, ports[i])
	}
	return nil
}

func (c *controller) open(s *corev1.Service, ports []uint16) (*balancer, error) {
	taken := map[netip.Addr]bool{}
	for _, other := range c.balancers {
		taken[other.address] = true
	}
	var last error
	for n := range attempts + 1 {
		address := candidate(s, n)
		if !address.IsValid() || taken[address] {
			continue
		}
		listeners, err := listenAll(address, ports)
		if err == nil {
			return &balancer{address: address, listeners: listeners}, nil
		}
		if last = err; errors.Is(err, syscall.EADDRNOTAVAIL) {
			return c.shared(s, ports)
		}
	}
	return nil, last
}

// candidate returns an address for a Service: first the one in its status, so that it stays the same for the life of the
// Service, and then random ones, so that no team can choose the address of a database server that is stopped. It avoids
// 127.0.0.0/16, the addresses of resolvers and control planes.
func candidate(s *corev1.Service, n int) netip.Addr {
	if n > 0 {
		return netip.AddrFrom4([4]byte{127, 1 + byte(rand.IntN(254)), byte(rand.IntN(256)), 1 + byte(rand.IntN(254))})
	}
	for _, ingress := range s.Status.LoadBalancer.Ingress {
		if a, err := netip.ParseAddr(ingress.IP); err == nil && a.Is4() && a.IsLoopback() && a.As4()[1] != 0 {
			return a
		}
	}
	return netip.Addr{}
}

// shared returns a load balancer on 127.0.0.1, with ports of this home.
func (c *controller) shared(s *corev1.Service, ports []uint16) (*balancer, error) {
	b := &balancer{address: netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	for _, p := range ports {
		l, err := c.Listen(fmt.Sprintf("loadbalancer/%s/%s:%d", s.Namespace, s.Name, p))
		if err != nil {
			b.close()
			return nil, err
		}
		b.listeners = append(b.listeners, l)
	}
	return b, nil
}

// listenAll listens on all ports of an address.
func listenAll(address netip.Addr, ports []uint16) (opened []net.Listener, err error) {
	for _, port := range ports {
		l, err := listen(address, port)
		if err != nil {
			for _, l := range opened {
				l.Close()
			}
			return nil, err
		}
		opened = append(opened, l)
	}
	return opened, nil
}

// listen listens on a port of an address. For a port that the user may not use, it takes the port plus 8000: 8080 for
// HTTP, 8443 for HTTPS.
func listen(address netip.Addr, port uint16) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(address.String(), strconv.Itoa(int(port))))
	if port < firstUnprivileged && errors.Is(err, syscall.EACCES) {
		return net.Listen("tcp", net.JoinHostPort(address.String(), strconv.Itoa(int(port)+unprivileged)))
	}
	return l, err
}
