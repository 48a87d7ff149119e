// Package networktest lets tests act as pods: each has a network stack of its own in the test's process, at the other end
// of a link to the gateway.
package networktest

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

// queue is the number of frames that a link holds in each direction.
const queue = 1024

// Pod is the network of a pod.
type Pod struct {
	IP    netip.Addr
	Stack *stack.Stack
	// wire is the pod's end of the link, for tests that send frames of their own.
	wire *channel.Endpoint
}

// New returns a pod and the gateway's end of its link. The test's clean-up removes both.
func New(t testing.TB, ip netip.Addr, mac, gatewayMAC net.HardwareAddr, mtu int) (*Pod, stack.LinkEndpoint) {
	t.Helper()
	frame := uint32(mtu + header.EthernetMinimumSize)
	own := channel.New(queue, frame, tcpip.LinkAddress(mac))
	other := channel.New(queue, frame, tcpip.LinkAddress(gatewayMAC))
	ctx, cancel := context.WithCancel(context.Background())
	go pump(ctx, own, other)
	go pump(ctx, other, own)
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4},
		HandleLocal:        true,
	})
	p := &Pod{IP: ip, Stack: s, wire: own}
	check(t, s.CreateNIC(1, ethernet.New(own)))
	check(t, s.AddProtocolAddress(1, tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber,
		AddressWithPrefix: tcpip.AddrFrom4(ip.As4()).WithPrefix()}, stack.AddressProperties{}))
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}})
	t.Cleanup(func() {
		s.Destroy()
		cancel()
	})
	return p, ethernet.New(other)
}

// pump carries the frames of one direction.
func pump(ctx context.Context, from, to *channel.Endpoint) {
	for {
		pkt := from.ReadContext(ctx)
		if pkt == nil {
			return
		}
		copied := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: pkt.ToBuffer()})
		pkt.DecRef()
		to.InjectInbound(0, copied)
		copied.DecRef()
	}
}

func check(t testing.TB, err tcpip.Error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func full(a netip.AddrPort) tcpip.FullAddress {
	return tcpip.FullAddress{NIC: 1, Addr: tcpip.AddrFrom4(a.Addr().As4()), Port: a.Port()}
}

// Dial connects from the pod, over tcp or udp.
func (p *Pod) Dial(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
	if network == "udp" {
		remote := full(to)
		return gonet.DialUDP(p.Stack, nil, &remote, ipv4.ProtocolNumber)
	}
	return gonet.DialContextTCP(ctx, p.Stack, full(to), ipv4.ProtocolNumber)
}

// Listen listens on a TCP port of the pod.
func (p *Pod) Listen(t testing.TB, port uint16) net.Listener {
	t.Helper()
	l, err := gonet.ListenTCP(p.Stack, full(netip.AddrPortFrom(p.IP, port)), ipv4.ProtocolNumber)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// ListenUDP opens a UDP port of the pod.
func (p *Pod) ListenUDP(t testing.TB, port uint16) net.PacketConn {
	t.Helper()
	local := full(netip.AddrPortFrom(p.IP, port))
	c, err := gonet.DialUDP(p.Stack, &local, nil, ipv4.ProtocolNumber)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Send puts an Ethernet frame on the pod's link, as a pod with raw sockets can.
func (p *Pod) Send(frame []byte) {
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(frame)})
	defer pkt.DecRef()
	var list stack.PacketBufferList
	list.PushBack(pkt)
	// A full link loses frames, as a network does.
	_, _ = p.wire.WritePackets(list)
}
