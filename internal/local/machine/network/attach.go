package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	pods "github.com/strata-platform/strata/internal/local/machine/network/link"
)

// nic is the only interface of each stack.
const nic tcpip.NICID = 1

// Pod identifies a pod to the gateway.
type Pod struct {
	Namespace, Name string
	UID             types.UID
	// Labels count for NetworkPolicies until the gateway's state contains the pod.
	Labels labels.Set
	// IP and MAC are the addresses of the pod's interface. The IP address is in Options.Pods.
	IP  netip.Addr
	MAC net.HardwareAddr
}

// key returns the pod's name as a key of maps.
func (p Pod) key() types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// link is the gateway's side of one pod's link. A pod has a stack of its own, so one pod uses up neither ports nor
// memory of another, and packets cannot pass between pods.
type link struct {
	gateway *Gateway
	pod     Pod
	stack   *stack.Stack
	ctx     context.Context
	cancel  context.CancelFunc

	connections atomic.Int64
	// ports counts the ports of connections to the pod.
	ports atomic.Uint32

	mu        sync.Mutex
	closed    bool
	datagrams map[*datagram]struct{}
	working   sync.WaitGroup
}

// Attach connects a pod through the gateway's end of its link, whose frames have Ethernet headers: link.Open returns it
// for a packet socket. The pod's default route goes over the link, to any address. The gateway owns the endpoint until
// Detach, even if Attach fails.
func (g *Gateway) Attach(ctx context.Context, pod Pod, endpoint stack.LinkEndpoint) error {
	fail := func(err error) error {
		endpoint.Attach(nil)
		endpoint.Close()
		return fmt.Errorf("attach pod %s/%s to the network: %w", pod.Namespace, pod.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	if !pod.IP.Is4() || !g.options.Pods.Contains(pod.IP) || pod.IP == g.options.Address {
		return fail(fmt.Errorf("its address %s is no free address in the pods' range %s", pod.IP, g.options.Pods))
	}
	if len(pod.MAC) != header.EthernetAddressSize || pod.MAC[0]&1 != 0 || pod.MAC.String() == g.options.MAC.String() {
		return fail(fmt.Errorf("its link address %q is not a unicast Ethernet address of its own", pod.MAC))
	}
	l := &link{gateway: g, pod: pod, datagrams: map[*datagram]struct{}{}, stack: stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4},
	})}
	l.ctx, l.cancel = context.WithCancel(g.ctx)
	// The link is in the maps before its first packet arrives, so that the policies know the pod.
	err := g.add(l)
	if err == nil {
		err = l.start(endpoint)
	}
	if err != nil {
		g.remove(l)
		return fail(err)
	}
	return nil
}

// add enters a link in the maps, if its name and address are free.
func (g *Gateway) add(l *link) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return errors.New("the network is closed")
	case g.links[l.pod.IP] != nil:
		other := g.links[l.pod.IP].pod
		return fmt.Errorf("pod %s/%s has its address %s; detach that pod first", other.Namespace, other.Name, l.pod.IP)
	case g.names[l.pod.key()] != nil:
		return errors.New("a pod of this name is attached; detach it first")
	}
	g.links[l.pod.IP], g.names[l.pod.key()] = l, l
	return nil
}

// Detach closes the connections of a pod and its link, and returns after their end. It does nothing for an unknown pod.
func (g *Gateway) Detach(namespace, name string) {
	if l := g.linkOf(types.NamespacedName{Namespace: namespace, Name: name}); l != nil {
		g.remove(l)
	}
}

// remove detaches a link, ends its connections, and waits for their end. A second call for the same link does nothing.
func (g *Gateway) remove(l *link) {
	g.mu.Lock()
	if g.links[l.pod.IP] == l {
		delete(g.links, l.pod.IP)
		delete(g.names, l.pod.key())
	}
	g.mu.Unlock()
	l.cancel()
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	l.closed = true
	l.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.working.Wait()
	}()
	for {
		// A handshake that begins meanwhile registers another endpoint, and would wait for a pod that is gone.
		for _, e := range l.stack.RegisteredEndpoints() {
			e.Abort()
		}
		select {
		case <-ended:
			l.stack.Destroy()
			return
		case <-time.After(abortPause):
		}
	}
}

// abortPause is the time between two rounds of aborts.
const abortPause = 50 * time.Millisecond

// begin registers a goroutine of the link. It returns false if the link closes.
func (l *link) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.working.Add(1)
	}
	return !l.closed
}

// start connects the stack to the link. The stack accepts packets to every address, and sends them from every address,
// because it stands for all other machines.
func (l *link) start(endpoint stack.LinkEndpoint) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errors.New("the network is closed")
	}
	o, s := &l.gateway.options, l.stack
	s.SetTransportProtocolHandler(tcp.ProtocolNumber, tcp.NewForwarder(s, 0, o.Limits.Dials, l.connect).HandlePacket)
	s.SetTransportProtocolHandler(udp.ProtocolNumber, udp.NewForwarder(s, l.datagram).HandlePacket)
	own := []netip.Addr{o.Address}
	if o.DNS.IsValid() {
		own = append(own, o.DNS)
	}
	guarded := pods.Guard(endpoint, pods.Rules{IP: l.pod.IP, MAC: l.pod.MAC, GatewayMAC: o.MAC, Pingable: own, ICMP: o.Limits.ICMP})
	fails := []tcpip.Error{tune(s), s.CreateNIC(nic, guarded)}
	for _, a := range own {
		fails = append(fails, s.AddProtocolAddress(nic, tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber,
			AddressWithPrefix: address(a).WithPrefix()}, stack.AddressProperties{}))
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}})
	fails = append(fails, s.SetPromiscuousMode(nic, true), s.SetSpoofing(nic, true),
		s.AddStaticNeighbor(nic, ipv4.ProtocolNumber, address(l.pod.IP), tcpip.LinkAddress(l.pod.MAC)))
	for _, err := range fails {
		if err != nil {
			return fmt.Errorf("create its network stack: %s", err)
		}
	}
	return l.answerQueries()
}

// tune sets the options of TCP. The buffers bound the memory of a connection. A connection does not stay in TIME_WAIT: both
// ends are on this machine, so no packet is late, and the stack would ignore a pod's SYN that reuses the port, because no
// socket listens here.
func tune(s *stack.Stack) tcpip.Error {
	buffers := tcpip.TCPReceiveBufferSizeRangeOption{Min: 4 << 10, Default: 256 << 10, Max: 1 << 20}
	sending := tcpip.TCPSendBufferSizeRangeOption{Min: 4 << 10, Default: 256 << 10, Max: 1 << 20}
	sack, wait, linger := tcpip.TCPSACKEnabled(true), tcpip.TCPTimeWaitTimeoutOption(0), tcpip.TCPLingerTimeoutOption(5*time.Second)
	for _, o := range []tcpip.SettableTransportProtocolOption{&buffers, &sending, &sack, &wait, &linger} {
		if err := s.SetTransportProtocolOption(tcp.ProtocolNumber, o); err != nil {
			return err
		}
	}
	return s.SetPortRange(1024, 65535)
}

func address(a netip.Addr) tcpip.Address { return tcpip.AddrFrom4(a.As4()) }

func full(a netip.AddrPort) tcpip.FullAddress {
	return tcpip.FullAddress{NIC: nic, Addr: address(a.Addr()), Port: a.Port()}
}
