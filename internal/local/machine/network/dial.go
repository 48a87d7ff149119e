package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const (
	// dialTimeout bounds the opening of a connection to a pod. A pod that runs answers or rejects at once.
	dialTimeout = 10 * time.Second
	// firstPort is the first port of connections to pods, and maxPorts bounds the ports that one connection tries.
	firstPort, maxPorts = 1024, 2048
)

// dial connects to a port of the link's pod. The pod sees the client's address, except for connections from the host and
// from itself: a pod would drop packets with its own source address.
func (l *link) dial(ctx context.Context, c client, network string, port uint16) (net.Conn, error) {
	if !l.begin() {
		return nil, fmt.Errorf("connect to pod %s/%s: it has no network any more", l.pod.Namespace, l.pod.Name)
	}
	defer l.working.Done()
	source := l.gateway.options.Address
	if c.link != nil && c.link != l {
		source = c.ip
	}
	local, remote := full(netip.AddrPortFrom(source, 0)), full(netip.AddrPortFrom(l.pod.IP, port))
	if network == "udp" {
		return dialUDP(l, local, remote)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	stop := context.AfterFunc(l.ctx, cancel)
	defer stop()
	conn, err := l.dialTCP(ctx, local, remote)
	if err != nil {
		return nil, fmt.Errorf("connect to port %d of pod %s/%s: %w", port, l.pod.Namespace, l.pod.Name, err)
	}
	return conn, nil
}

// dialTCP connects like gonet.DialTCPWithBind, and keeps the endpoint, so that the connection can be reset.
func (l *link) dialTCP(ctx context.Context, local, remote tcpip.FullAddress) (*stream, error) {
	var queue waiter.Queue
	ep, err := l.stack.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, &queue)
	if err != nil {
		return nil, errors.New(err.String())
	}
	entry, writable := waiter.NewChannelEntry(waiter.WritableEvents)
	queue.EventRegister(&entry)
	defer queue.EventUnregister(&entry)
	if err = l.bind(ep, local); err == nil {
		err = ep.Connect(remote)
	}
	if _, started := err.(*tcpip.ErrConnectStarted); started {
		select {
		case <-ctx.Done():
			ep.Abort()
			ep.Close()
			return nil, ctx.Err()
		case <-writable:
			err = ep.LastError()
		}
	}
	if err != nil {
		ep.Close()
		return nil, errors.New(err.String())
	}
	return &stream{gonet.NewTCPConn(&queue, ep), ep}, nil
}

// bind binds an endpoint to the next free port. The stack's own choice is random, so it soon repeats a port that a server
// which closes its connections first keeps in TIME_WAIT, and such a server may ignore a SYN.
func (l *link) bind(ep tcpip.Endpoint, local tcpip.FullAddress) tcpip.Error {
	var err tcpip.Error
	for range maxPorts {
		local.Port = uint16(firstPort + l.ports.Add(1)%(1<<16-firstPort))
		if err = ep.Bind(local); err == nil {
			return nil
		}
	}
	return err
}

func dialUDP(l *link, local, remote tcpip.FullAddress) (net.Conn, error) {
	conn, err := gonet.DialUDP(l.stack, &local, &remote, ipv4.ProtocolNumber)
	if err != nil {
		return nil, fmt.Errorf("open a UDP flow to pod %s/%s: %w", l.pod.Namespace, l.pod.Name, err)
	}
	return conn, nil
}
