package network

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	corev1 "k8s.io/api/core/v1"
)

// dnsPort is the port of DNS, over UDP and TCP.
const dnsPort = 53

// answerQueries answers the pod's DNS queries over UDP until the link closes. The caller holds l.mu.
func (l *link) answerQueries() error {
	o := &l.gateway.options
	if !o.DNS.IsValid() {
		return nil
	}
	at := full(netip.AddrPortFrom(o.DNS, dnsPort))
	conn, err := gonet.DialUDP(l.stack, &at, nil, ipv4.ProtocolNumber)
	if err != nil {
		return fmt.Errorf("listen for DNS queries: %w", err)
	}
	l.working.Go(func() {
		stop := context.AfterFunc(l.ctx, func() { conn.Close() })
		defer stop()
		l.gateway.dns.ServePackets(l.ctx, &checked{conn, l}, o.Limits.Queries)
	})
	return nil
}

// resolver is the backend of DNS over TCP.
func (g *Gateway) resolver(ctx context.Context, _ Request) (net.Conn, error) {
	client, server := net.Pipe()
	go g.dns.ServeStream(ctx, server)
	return client, nil
}

// checked is the socket of a pod's DNS queries. It drops the queries that the NetworkPolicies do not allow.
type checked struct {
	*gonet.UDPConn
	link *link
}

// ReadFrom implements net.PacketConn.
func (c *checked) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, from, err := c.UDPConn.ReadFrom(b)
		g := c.link.gateway
		if err != nil || g.allows(c.link.pod.IP, g.options.DNS, corev1.ProtocolUDP, dnsPort) == nil {
			return n, from, err
		}
	}
}
