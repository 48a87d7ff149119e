package link

import (
	"net"
	"net/netip"
	"testing"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

var (
	own     = netip.MustParseAddr("10.244.0.2")
	other   = netip.MustParseAddr("10.244.0.3")
	gateway = netip.MustParseAddr("10.244.0.1")
	mac     = net.HardwareAddr{2, 0, 0, 0, 1, 2}
	otherIf = net.HardwareAddr{2, 0, 0, 0, 1, 3}
	gateMAC = net.HardwareAddr{2, 0, 0, 0, 0, 1}
)

// stackStub counts the packets that pass the guard.
type stackStub struct{ passed int }

func (s *stackStub) DeliverNetworkPacket(tcpip.NetworkProtocolNumber, *stack.PacketBuffer) {
	s.passed++
}
func (s *stackStub) DeliverLinkPacket(tcpip.NetworkProtocolNumber, *stack.PacketBuffer) {}

// guarded returns the outer end of a guarded link, and its counter.
func guarded() (*channel.Endpoint, *stackStub) {
	wire := channel.New(16, 1514, tcpip.LinkAddress(gateMAC))
	g := Guard(ethernet.New(wire), Rules{IP: own, MAC: mac, GatewayMAC: gateMAC, Pingable: []netip.Addr{gateway}, ICMP: 100})
	counter := &stackStub{}
	g.Attach(counter)
	return wire, counter
}

func inject(wire *channel.Endpoint, frame []byte) {
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(frame)})
	defer pkt.DecRef()
	wire.InjectInbound(0, pkt)
}

// frame returns an Ethernet frame with an IPv4 packet.
func frame(source net.HardwareAddr, from, to netip.Addr, protocol tcpip.TransportProtocolNumber, payload []byte) []byte {
	f := make([]byte, header.EthernetMinimumSize+header.IPv4MinimumSize)
	header.Ethernet(f).Encode(&header.EthernetFields{SrcAddr: tcpip.LinkAddress(source), DstAddr: tcpip.LinkAddress(gateMAC), Type: header.IPv4ProtocolNumber})
	header.IPv4(f[header.EthernetMinimumSize:]).Encode(&header.IPv4Fields{TotalLength: uint16(header.IPv4MinimumSize + len(payload)), TTL: 64,
		Protocol: uint8(protocol), SrcAddr: tcpip.AddrFrom4(from.As4()), DstAddr: tcpip.AddrFrom4(to.As4())})
	return append(f, payload...)
}

func message(kind header.ICMPv4Type) []byte {
	m := make([]byte, header.ICMPv4MinimumSize)
	header.ICMPv4(m).SetType(kind)
	return m
}

func TestTheGuardPasses(t *testing.T) {
	const tcp, udp, icmp = header.TCPProtocolNumber, header.UDPProtocolNumber, header.ICMPv4ProtocolNumber
	fragment := frame(mac, own, gateway, icmp, message(header.ICMPv4Echo))
	header.IPv4(fragment[header.EthernetMinimumSize:]).SetFlagsFragmentOffset(header.IPv4FlagMoreFragments, 0)
	sixth := frame(mac, own, other, udp, nil)
	sixth[12], sixth[13] = 0x86, 0xdd
	for name, c := range map[string]struct {
		frame []byte
		want  bool
	}{
		"TCP from the pod":                       {frame(mac, own, other, tcp, nil), true},
		"UDP from the pod":                       {frame(mac, own, other, udp, nil), true},
		"not with another IP address":            {frame(mac, other, gateway, tcp, nil), false},
		"not with another MAC address":           {frame(otherIf, own, other, tcp, nil), false},
		"not to the pod itself":                  {frame(mac, own, own, tcp, nil), false},
		"not to loopback":                        {frame(mac, own, netip.MustParseAddr("127.0.0.1"), tcp, nil), false},
		"not to broadcast":                       {frame(mac, own, netip.MustParseAddr("255.255.255.255"), udp, nil), false},
		"not to multicast":                       {frame(mac, own, netip.MustParseAddr("224.0.0.1"), udp, nil), false},
		"not over another protocol":              {frame(mac, own, other, 132, nil), false},
		"not over IPv6":                          {sixth, false},
		"an echo request to the gateway":         {frame(mac, own, gateway, icmp, message(header.ICMPv4Echo)), true},
		"no echo request to another pod":         {frame(mac, own, other, icmp, message(header.ICMPv4Echo)), false},
		"an error about a packet of the gateway": {frame(mac, own, other, icmp, message(header.ICMPv4DstUnreachable)), true},
		"no redirect":                            {frame(mac, own, gateway, icmp, message(header.ICMPv4Redirect)), false},
		"no fragment of an echo request":         {fragment, false},
		"no half of a header":                    {frame(mac, own, other, tcp, nil)[:20], false},
		"no empty frame":                         {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			wire, counter := guarded()
			inject(wire, c.frame)
			if (counter.passed == 1) != c.want {
				t.Errorf("%d packets passed", counter.passed)
			}
		})
	}
}

func TestTheGuardAnswersARP(t *testing.T) {
	request := func(op header.ARPOp, hardware net.HardwareAddr, sender, target netip.Addr) []byte {
		f := make([]byte, header.EthernetMinimumSize+header.ARPSize)
		header.Ethernet(f).Encode(&header.EthernetFields{SrcAddr: tcpip.LinkAddress(mac), DstAddr: header.EthernetBroadcastAddress, Type: header.ARPProtocolNumber})
		a := header.ARP(f[header.EthernetMinimumSize:])
		a.SetIPv4OverEthernet()
		a.SetOp(op)
		copy(a.HardwareAddressSender(), hardware)
		copy(a.ProtocolAddressSender(), sender.AsSlice())
		copy(a.ProtocolAddressTarget(), target.AsSlice())
		return f
	}
	for name, c := range map[string]struct {
		frame []byte
		want  bool
	}{
		"a request for another pod gets the gateway's address": {request(header.ARPRequest, mac, own, other), true},
		"a request for an outside address, too":                {request(header.ARPRequest, mac, own, netip.MustParseAddr("1.1.1.1")), true},
		"the check for duplicates stays without an answer":     {request(header.ARPRequest, mac, own, own), false},
		"a request in the name of another pod":                 {request(header.ARPRequest, mac, other, gateway), false},
		"a request with another hardware address":              {request(header.ARPRequest, otherIf, own, gateway), false},
		"a reply": {request(header.ARPReply, mac, own, gateway), false},
	} {
		t.Run(name, func(t *testing.T) {
			wire, counter := guarded()
			inject(wire, c.frame)
			reply := wire.Read()
			if counter.passed != 0 || (reply != nil) != c.want {
				t.Fatalf("the answer is %v, and %d packets passed", reply, counter.passed)
			}
			if reply == nil {
				return
			}
			defer reply.DecRef()
			raw := reply.ToView().AsSlice()
			if got := net.HardwareAddr(header.ARP(raw[header.EthernetMinimumSize:]).HardwareAddressSender()); got.String() != gateMAC.String() {
				t.Errorf("the answer names %s; want the gateway's address", got)
			}
		})
	}
}
