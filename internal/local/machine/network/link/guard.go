// Package link connects the network interfaces of pods to the gateway, and drops the frames that a pod may not send.
package link

import (
	"net"
	"net/netip"
	"slices"

	"golang.org/x/time/rate"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/nested"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// Rules describes the frames that a pod may send.
type Rules struct {
	// IP and MAC are the pod's own addresses. Frames with another source are dropped.
	IP  netip.Addr
	MAC net.HardwareAddr
	// GatewayMAC is the answer to every ARP request of the pod: all its packets go to the gateway.
	GatewayMAC net.HardwareAddr
	// Pingable are the addresses that answer ICMP echo requests of the pod.
	Pingable []netip.Addr
	// ICMP is the number of ICMP and ARP packets that the pod may send in a second.
	ICMP int
}

// Guard returns an endpoint that passes packets between a pod's link and the gateway's stack. The link's frames have
// Ethernet headers. The guard answers ARP itself, so the stack never learns an address from a pod.
func Guard(child stack.LinkEndpoint, rules Rules) stack.LinkEndpoint {
	g := &guard{rules: rules, ip: tcpip.AddrFrom4(rules.IP.As4()), mac: tcpip.LinkAddress(rules.MAC),
		gateway: tcpip.LinkAddress(rules.GatewayMAC), icmp: rate.NewLimiter(rate.Limit(rules.ICMP), rules.ICMP)}
	for _, p := range rules.Pingable {
		g.pingable = append(g.pingable, tcpip.AddrFrom4(p.As4()))
	}
	g.Init(child, g)
	return g
}

type guard struct {
	nested.Endpoint
	rules        Rules
	ip           tcpip.Address
	mac, gateway tcpip.LinkAddress
	pingable     []tcpip.Address
	icmp         *rate.Limiter
}

// DeliverNetworkPacket implements stack.NetworkDispatcher for frames from the pod. It drops IPv6: pods have no IPv6
// address, and a dropped packet cannot reach the host's ::1.
func (g *guard) DeliverNetworkPacket(protocol tcpip.NetworkProtocolNumber, pkt *stack.PacketBuffer) {
	frame := pkt.LinkHeader().Slice()
	if len(frame) < header.EthernetMinimumSize || header.Ethernet(frame).SourceAddress() != g.mac {
		return
	}
	switch protocol {
	case header.ARPProtocolNumber:
		g.answerARP(pkt)
	case header.IPv4ProtocolNumber:
		if g.passes(pkt) {
			// A frame to another MAC address or to broadcast is a packet to the gateway, too: the pod has no neighbours.
			pkt.PktType = tcpip.PacketHost
			g.Endpoint.DeliverNetworkPacket(protocol, pkt)
		}
	}
}

// passes reports whether an IPv4 packet has the pod's source address, and a destination that connections may have. ICMP
// passes within its rate: echo requests to the gateway, and errors about packets that the gateway sent.
func (g *guard) passes(pkt *stack.PacketBuffer) bool {
	raw, ok := pkt.Data().PullUp(header.IPv4MinimumSize)
	if !ok {
		return false
	}
	ip := header.IPv4(raw)
	to := ip.DestinationAddress()
	if ip.SourceAddress() != g.ip || to == g.ip || to == header.IPv4Broadcast || header.IsV4MulticastAddress(to) ||
		header.IsV4LoopbackAddress(to) {
		return false
	}
	switch ip.TransportProtocol() {
	case header.TCPProtocolNumber, header.UDPProtocolNumber:
		return true
	case header.ICMPv4ProtocolNumber:
		return g.icmp.Allow() && g.isUsefulICMP(pkt, int(ip.HeaderLength()), to)
	}
	return false
}

// isUsefulICMP drops fragments of ICMP messages, so that every message shows its type.
func (g *guard) isUsefulICMP(pkt *stack.PacketBuffer, length int, to tcpip.Address) bool {
	raw, ok := pkt.Data().PullUp(length + header.ICMPv4MinimumSize)
	if !ok || length < header.IPv4MinimumSize {
		return false
	}
	if ip := header.IPv4(raw); ip.FragmentOffset() != 0 || ip.Flags()&header.IPv4FlagMoreFragments != 0 {
		return false
	}
	switch header.ICMPv4(raw[length:]).Type() {
	case header.ICMPv4DstUnreachable:
		return true
	case header.ICMPv4Echo:
		return slices.Contains(g.pingable, to)
	}
	return false
}

// answerARP answers requests from the pod's own addresses. Replies and gratuitous requests have no effect.
func (g *guard) answerARP(pkt *stack.PacketBuffer) {
	raw, ok := pkt.Data().PullUp(header.ARPSize)
	if !ok {
		return
	}
	request := header.ARP(raw)
	sender, target := tcpip.AddrFromSlice(request.ProtocolAddressSender()), tcpip.AddrFromSlice(request.ProtocolAddressTarget())
	own := sender == g.ip && tcpip.LinkAddress(request.HardwareAddressSender()) == g.mac
	// A request for the pod's own address is its check for duplicates, which must stay without an answer.
	if !request.IsValid() || request.Op() != header.ARPRequest || !own || target == g.ip || !g.icmp.Allow() {
		return
	}
	reply := stack.NewPacketBuffer(stack.PacketBufferOptions{ReserveHeaderBytes: int(g.MaxHeaderLength()) + header.ARPSize})
	defer reply.DecRef()
	body := header.ARP(reply.NetworkHeader().Push(header.ARPSize))
	body.SetIPv4OverEthernet()
	body.SetOp(header.ARPReply)
	copy(body.HardwareAddressSender(), g.gateway)
	copy(body.ProtocolAddressSender(), target.AsSlice())
	copy(body.HardwareAddressTarget(), g.mac)
	copy(body.ProtocolAddressTarget(), g.ip.AsSlice())
	reply.NetworkProtocolNumber = header.ARPProtocolNumber
	reply.EgressRoute.LocalLinkAddress, reply.EgressRoute.RemoteLinkAddress = g.gateway, g.mac
	g.AddHeader(reply)
	var list stack.PacketBufferList
	list.PushBack(reply)
	// The pod repeats its request if the reply is lost.
	_, _ = g.WritePackets(list)
}
