package network

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/network/networktest"
	"github.com/strata-platform/strata/internal/local/machine/network/outside"
)

// everywhere is the widest allow-list that a caller can write. Its Connect counts the connections that leave the cluster,
// and takes those to 1.1.1.1 to a server of the test.
func everywhere(t *testing.T, left *atomic.Int64) func(*Options) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go serveStreams(l, "outside")
	return func(o *Options) {
		o.Outside = outside.Rules{Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")},
			Connect: func(ctx context.Context, _, address string, _ func(netip.Addr) error) (net.Conn, error) {
				left.Add(1)
				if address != "1.1.1.1:80" {
					return nil, errors.New("the test allows no other address")
				}
				return (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String())
			}}
	}
}

func TestTheHostStaysClosedWithTheWidestAllowList(t *testing.T) {
	var left atomic.Int64
	g := open(t, everywhere(t, &left))
	one := attach(t, g, 2)
	if got, err := ask(t, one, at("1.1.1.1:80"), "hello"); err != nil || got != "outside 127.0.0.1 hello" || left.Load() != 1 {
		t.Fatalf("a public address answers %q, %v after %d connections", got, err, left.Load())
	}
	// A server on every address of the host, as a careless developer's is.
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go serveStreams(l, "host")
	port := l.Addr().(*net.TCPAddr).AddrPort().Port()
	targets := []string{"127.0.0.1", "127.1.2.3", "0.0.0.0", "169.254.169.254", "169.254.1.1", "224.0.0.251", "255.255.255.255", "240.0.0.1"}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if prefix := netip.MustParsePrefix(a.String()); prefix.Addr().Is4() {
			targets = append(targets, prefix.Addr().String())
		}
	}
	for _, target := range targets {
		to := netip.AddrPortFrom(netip.MustParseAddr(target), port)
		// The gateway's own decision, because the pod's stack refuses to send to some of these addresses.
		if found, err := g.targets(client{g.linkAt(ip(2)), ip(2)}, corev1.ProtocolTCP, to); err == nil {
			t.Errorf("the gateway has %d targets for %s", len(found), to)
		}
		one.Send(syn(ip(2), mac(2), to, 40000))
		one.Send(packet(mac(2), ip(2), to.Addr(), header.UDPProtocolNumber, datagramTo(to.Port(), "hello")))
	}
	// These frames carry IPv6, so they never reach the stack.
	for _, target := range []string{"::1", "::ffff:127.0.0.1", "fe80::1"} {
		one.Send(sixth(mac(2), netip.MustParseAddr(target), port))
	}
	if _, err := ask(t, one, at("1.1.1.1:80"), ""); err != nil {
		t.Fatal(err)
	}
	if n := left.Load(); n != 2 {
		t.Errorf("%d connections left the cluster; want the 2 to a public address", n)
	}
}

func TestASpoofedSourceIsDropped(t *testing.T) {
	g := open(t, nil)
	attacker, server := attach(t, g, 2), attach(t, g, 4)
	victim := attach(t, g, 3)
	received := make(chan string, 16)
	conn := server.ListenUDP(t, 53)
	go func() {
		buffer := make([]byte, 100)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			received <- string(buffer[:n]) + " from " + from.(*net.UDPAddr).IP.String()
		}
	}()
	for name, frame := range map[string][]byte{
		"the victim's IP address":           packet(mac(2), ip(3), ip(4), header.UDPProtocolNumber, datagramTo(53, "forged")),
		"the victim's IP and MAC addresses": packet(mac(3), ip(3), ip(4), header.UDPProtocolNumber, datagramTo(53, "forged")),
		"the victim's MAC address":          packet(mac(3), ip(2), ip(4), header.UDPProtocolNumber, datagramTo(53, "forged")),
		"the gateway's IP address":          packet(mac(2), gatewayIP, ip(4), header.UDPProtocolNumber, datagramTo(53, "forged")),
		"no length":                         {},
		"half a header":                     packet(mac(2), ip(2), ip(4), header.UDPProtocolNumber, nil)[:20],
	} {
		t.Log("send a frame with " + name)
		attacker.Send(frame)
	}
	for n, pod := range map[int]*networktest.Pod{2: attacker, 3: victim} {
		out, err := pod.Dial(t.Context(), "udp", at("10.244.0.4:53"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte("honest")); err != nil {
			t.Fatal(err)
		}
		if got, want := <-received, "honest from "+ip(n).String(); got != want {
			t.Errorf("the server received %q; want %q", got, want)
		}
		out.Close()
	}
}

func TestForgedARPHasNoEffect(t *testing.T) {
	g := open(t, nil)
	attacker, victim, other := attach(t, g, 2), attach(t, g, 3), attach(t, g, 4)
	answer(t, victim, 80, "victim")
	answer(t, attacker, 80, "attacker")
	for _, op := range []header.ARPOp{header.ARPRequest, header.ARPReply} {
		for _, claimed := range []netip.Addr{ip(3), gatewayIP, dnsIP} {
			attacker.Send(arpFrame(op, mac(2), claimed, claimed))
			attacker.Send(arpFrame(op, mac(2), claimed, ip(4)))
		}
	}
	// The attacker's link is in order, so the gateway has seen the forged frames after this answer.
	if _, err := ask(t, attacker, at("10.244.0.3:80"), ""); err != nil {
		t.Fatal(err)
	}
	if got, err := ask(t, other, at("10.244.0.3:80"), "hello"); err != nil || got != "victim 10.244.0.4 hello" {
		t.Errorf("the victim's address answers %q, %v", got, err)
	}
}

func TestFragments(t *testing.T) {
	g := open(t, nil)
	one, two := attach(t, g, 2), attach(t, g, 3)
	answer(t, two, 80, "three")
	echoPackets(t, two, 53, "three")
	large := strings.Repeat("x", MTU+200)
	if got, err := send(t, one, at("10.244.0.3:53"), large); err != nil || got != "three 10.244.0.2 "+large {
		t.Errorf("a packet of two fragments was answered with %d bytes, %v", len(got), err)
	}
	// First fragments without a second one fill only the attacker's own stack.
	for n := range 20000 {
		frame := packet(mac(2), ip(2), ip(3), header.UDPProtocolNumber, make([]byte, 1400))
		fragment := header.IPv4(frame[header.EthernetMinimumSize:])
		fragment.SetID(uint16(n))
		fragment.SetFlagsFragmentOffset(header.IPv4FlagMoreFragments, 0)
		fragment.SetChecksum(0)
		fragment.SetChecksum(^fragment.CalculateChecksum())
		one.Send(frame)
	}
	if got, err := ask(t, one, at("10.244.0.3:80"), "hello"); err != nil || got != "three 10.244.0.2 hello" {
		t.Errorf("after 20000 fragments the answer is %q, %v", got, err)
	}
}

func TestAFloodOfICMPIsBounded(t *testing.T) {
	const rate = 10
	g := open(t, func(o *Options) { o.Limits.ICMP = rate })
	one := attach(t, g, 2)
	answer(t, attach(t, g, 3), 80, "three")
	began := time.Now()
	for range 5000 {
		echo := header.ICMPv4(make([]byte, 64))
		echo.SetType(header.ICMPv4Echo)
		echo.SetChecksum(header.ICMPv4Checksum(echo, 0))
		one.Send(packet(mac(2), ip(2), gatewayIP, header.ICMPv4ProtocolNumber, echo))
	}
	if _, err := ask(t, one, at("10.244.0.3:80"), ""); err != nil {
		t.Fatal(err)
	}
	bound := uint64(rate * (2 + time.Since(began).Seconds()))
	if n := one.Stack.Stats().ICMP.V4.PacketsReceived.EchoReply.Value(); n == 0 || n > bound {
		t.Errorf("the gateway sent %d replies; want between 1 and %d", n, bound)
	}
}

func packet(source net.HardwareAddr, from, to netip.Addr, protocol tcpip.TransportProtocolNumber, payload []byte) []byte {
	frame := make([]byte, header.EthernetMinimumSize+header.IPv4MinimumSize, header.EthernetMinimumSize+header.IPv4MinimumSize+len(payload))
	header.Ethernet(frame).Encode(&header.EthernetFields{SrcAddr: tcpip.LinkAddress(source), DstAddr: tcpip.LinkAddress(gatewayMAC), Type: header.IPv4ProtocolNumber})
	h := header.IPv4(frame[header.EthernetMinimumSize:])
	h.Encode(&header.IPv4Fields{TotalLength: uint16(header.IPv4MinimumSize + len(payload)), TTL: 64, Protocol: uint8(protocol),
		SrcAddr: address(from), DstAddr: address(to)})
	h.SetChecksum(^h.CalculateChecksum())
	return append(frame, payload...)
}

// datagramTo returns a UDP datagram without a checksum, which UDP over IPv4 allows.
func datagramTo(port uint16, text string) []byte {
	d := make([]byte, header.UDPMinimumSize, header.UDPMinimumSize+len(text))
	header.UDP(d).Encode(&header.UDPFields{SrcPort: 30000, DstPort: port, Length: uint16(header.UDPMinimumSize + len(text))})
	return append(d, text...)
}

// syn returns the first frame of a TCP connection.
func syn(from netip.Addr, source net.HardwareAddr, to netip.AddrPort, port uint16) []byte {
	segment := header.TCP(make([]byte, header.TCPMinimumSize))
	segment.Encode(&header.TCPFields{SrcPort: port, DstPort: to.Port(), SeqNum: 1, DataOffset: header.TCPMinimumSize,
		Flags: header.TCPFlagSyn, WindowSize: 65535})
	sum := header.PseudoHeaderChecksum(header.TCPProtocolNumber, address(from), address(to.Addr()), header.TCPMinimumSize)
	segment.SetChecksum(^segment.CalculateChecksum(sum))
	return packet(source, from, to.Addr(), header.TCPProtocolNumber, segment)
}

// sixth returns a UDP packet over IPv6.
func sixth(source net.HardwareAddr, to netip.Addr, port uint16) []byte {
	payload := datagramTo(port, "hello")
	frame := make([]byte, header.EthernetMinimumSize+header.IPv6MinimumSize)
	header.Ethernet(frame).Encode(&header.EthernetFields{SrcAddr: tcpip.LinkAddress(source), DstAddr: tcpip.LinkAddress(gatewayMAC), Type: header.IPv6ProtocolNumber})
	header.IPv6(frame[header.EthernetMinimumSize:]).Encode(&header.IPv6Fields{PayloadLength: uint16(len(payload)), TransportProtocol: header.UDPProtocolNumber,
		HopLimit: 64, SrcAddr: tcpip.AddrFrom16(netip.MustParseAddr("fe80::2").As16()), DstAddr: tcpip.AddrFrom16(to.As16())})
	return append(frame, payload...)
}

func arpFrame(op header.ARPOp, source net.HardwareAddr, sender, target netip.Addr) []byte {
	frame := make([]byte, header.EthernetMinimumSize+header.ARPSize)
	header.Ethernet(frame).Encode(&header.EthernetFields{SrcAddr: tcpip.LinkAddress(source), DstAddr: header.EthernetBroadcastAddress, Type: header.ARPProtocolNumber})
	a := header.ARP(frame[header.EthernetMinimumSize:])
	a.SetIPv4OverEthernet()
	a.SetOp(op)
	copy(a.HardwareAddressSender(), source)
	copy(a.ProtocolAddressSender(), sender.AsSlice())
	copy(a.ProtocolAddressTarget(), target.AsSlice())
	return frame
}
