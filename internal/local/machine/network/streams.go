package network

import (
	"net/netip"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/network/relay"
)

// unanswered and answered are the times after which an idle UDP flow ends: Linux's nf_conntrack_udp_timeout and
// nf_conntrack_udp_timeout_stream.
const unanswered, answered = 30 * time.Second, 120 * time.Second

func idle(hasAnswer bool) time.Duration {
	if hasAnswer {
		return answered
	}
	return unanswered
}

// connect handles a TCP connection of the pod. It opens the other end first, so that the pod sees a reset if nothing
// listens there, if a NetworkPolicy denies the connection, or if the pod has too many connections.
func (l *link) connect(r *tcp.ForwarderRequest) {
	if !l.begin() {
		r.Complete(true)
		return
	}
	defer l.working.Done()
	defer l.connections.Add(-1)
	if n := l.connections.Add(1); n > int64(l.gateway.options.Limits.Connections) {
		r.Complete(true)
		return
	}
	id := r.ID()
	to := netip.AddrPortFrom(netip.AddrFrom4(id.LocalAddress.As4()), id.LocalPort)
	f, conn, err := l.gateway.connect(l.ctx, client{l, l.pod.IP}, corev1.ProtocolTCP, to)
	if err != nil {
		l.rejected("tcp", to, err)
		r.Complete(true)
		return
	}
	defer l.gateway.end(f)
	defer conn.Close()
	var queue waiter.Queue
	ep, failed := r.CreateEndpoint(&queue)
	r.Complete(failed != nil)
	if failed == nil {
		relay.Streams(f.ctx, &stream{gonet.NewTCPConn(&queue, ep), ep}, conn)
	}
}

// stream is a TCP connection of a pod.
type stream struct {
	*gonet.TCPConn
	endpoint tcpip.Endpoint
}

// Abort resets the connection.
func (s *stream) Abort() { s.endpoint.Abort() }

// rejected logs a rejected connection. Pods cause these at will, so they appear only in a log of level debug.
func (l *link) rejected(network string, to netip.AddrPort, err error) {
	l.gateway.options.Log.Debug("rejected a connection", "namespace", l.pod.Namespace, "pod", l.pod.Name, "network", network,
		"address", to.String(), "reason", err.Error())
}

// datagram is a UDP flow that the pod started.
type datagram struct {
	flow *flow
	// active is the time of the last packet, in nanoseconds since 1970.
	active atomic.Int64
}

// datagram handles the first packet of a UDP flow. A false result makes the stack answer that the port is unreachable.
// It only looks at tables, because the link delivers no other packet meanwhile.
func (l *link) datagram(r *udp.ForwarderRequest) bool {
	id := r.ID()
	to := netip.AddrPortFrom(netip.AddrFrom4(id.LocalAddress.As4()), id.LocalPort)
	from := client{l, l.pod.IP}
	targets, err := l.gateway.targets(from, corev1.ProtocolUDP, to)
	if err != nil {
		l.rejected("udp", to, err)
		return false
	}
	t := targets[0]
	if err := l.gateway.allows(l.pod.IP, t.to.Addr(), corev1.ProtocolUDP, t.to.Port()); err != nil {
		l.rejected("udp", to, err)
		return false
	}
	if !l.begin() {
		return false
	}
	var queue waiter.Queue
	ep, failed := r.CreateEndpoint(&queue)
	if failed != nil {
		l.working.Done()
		return false
	}
	d := &datagram{flow: &flow{from: l.pod.IP, to: t.to, protocol: corev1.ProtocolUDP, port: t.port}}
	d.active.Store(time.Now().UnixNano())
	l.gateway.register(l.ctx, d.flow)
	l.keep(d)
	go func() {
		defer l.working.Done()
		defer l.forget(d)
		l.carry(d, t, &queue, ep)
	}()
	return true
}

// carry opens the other end of a UDP flow, and copies its packets until the flow is idle.
func (l *link) carry(d *datagram, t target, queue *waiter.Queue, ep tcpip.Endpoint) {
	own := gonet.NewUDPConn(queue, ep)
	defer own.Close()
	conn, err := l.gateway.open(d.flow, t)
	if err != nil {
		l.rejected("udp", t.to, err)
		return
	}
	if t.port != nil {
		l.gateway.balancer.Keep(t.port, l.pod.IP, t.endpoint)
	}
	relay.Packets(d.flow.ctx, own, conn, idle, &d.active)
}

// keep adds a UDP flow. If the pod has too many, the least recently used one ends.
func (l *link) keep(d *datagram) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.datagrams) >= l.gateway.options.Limits.Datagrams {
		var oldest *datagram
		for other := range l.datagrams {
			if oldest == nil || other.active.Load() < oldest.active.Load() {
				oldest = other
			}
		}
		delete(l.datagrams, oldest)
		oldest.flow.cancel()
	}
	l.datagrams[d] = struct{}{}
}

func (l *link) forget(d *datagram) {
	l.gateway.end(d.flow)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.datagrams, d)
}
