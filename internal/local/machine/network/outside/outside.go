// Package outside decides which addresses outside the pods' network a pod may reach, and dials them from the host.
package outside

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// dialTimeout bounds an attempt to connect. It is the time in which Linux repeats a lost SYN four times.
const dialTimeout = 30 * time.Second

// Rules is an allow-list. Its zero value allows the public addresses of the internet, except this machine's own.
type Rules struct {
	// Allow lists ranges of private or reserved unicast addresses that pods may reach, such as the network of an office.
	// It never opens the host: loopback, link-local, multicast and the host's own addresses stay closed.
	Allow []netip.Prefix
	// Deny lists ranges that pods may not reach. Deny precedes Allow.
	Deny []netip.Prefix
	// Own returns the host's own addresses, each with the length of its network. Nil asks the operating system. Check calls
	// it each time, because a machine changes its networks while it runs. If it fails, Check rejects every address.
	Own func() ([]netip.Prefix, error)
	// Connect replaces the host's dialer. The address is HOST:PORT, and check rejects a connection to another address. Nil
	// means net.Dialer.
	Connect func(ctx context.Context, network, address string, check func(netip.Addr) error) (net.Conn, error)
}

// Denied is the error of an address that the rules close.
type Denied struct {
	Address netip.Addr
	// Reason is a noun phrase: the class of the address.
	Reason string
}

// Error says why pods do not reach the address.
func (d *Denied) Error() string {
	return fmt.Sprintf("pods may not connect to %s: it is %s", d.Address, d.Reason)
}

// class is a range of addresses with one use.
type class struct {
	prefix netip.Prefix
	reason string
	// fixed classes ignore Rules.Allow.
	fixed bool
}

// classes follows IANA's registries of special-purpose addresses for IPv4 and IPv6 (RFC 6890 and its updates). The
// first match counts.
var classes = []class{
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of this host", true},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address", true},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address", true},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address", true},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved or broadcast address", true},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address", false},
	{netip.MustParsePrefix("100.64.0.0/10"), "a shared address of a carrier", false},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address", false},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address", false},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved for protocols", false},
	{netip.MustParsePrefix("192.0.2.0/24"), "reserved for documentation", false},
	{netip.MustParsePrefix("192.88.99.0/24"), "a relay of 6to4", false},
	{netip.MustParsePrefix("198.18.0.0/15"), "reserved for benchmarks", false},
	{netip.MustParsePrefix("198.51.100.0/24"), "reserved for documentation", false},
	{netip.MustParsePrefix("203.0.113.0/24"), "reserved for documentation", false},
	{netip.MustParsePrefix("fc00::/7"), "a private address", false},
	// These ranges contain IPv4 addresses, so a translator could turn them into an address of the classes above.
	{netip.MustParsePrefix("2001::/23"), "reserved for protocols", true},
	{netip.MustParsePrefix("2002::/16"), "an address of 6to4", true},
	{netip.MustParsePrefix("2001:db8::/32"), "reserved for documentation", false},
	{netip.MustParsePrefix("3fff::/20"), "reserved for documentation", false},
}

// unicast is the only range from which IANA assigns public IPv6 addresses (RFC 4291, section 2.4).
var unicast = netip.MustParsePrefix("2000::/3")

// Check returns nil if pods may reach the address, and otherwise a *Denied, or the error of Own. An IPv4 address that is
// mapped into IPv6 counts as the IPv4 address.
func (r Rules) Check(address netip.Addr) error {
	plain := address.Unmap().WithZone("")
	deny := func(reason string) error { return &Denied{Address: address, Reason: reason} }
	if !plain.IsValid() {
		return deny("no IP address")
	}
	own := r.Own
	if own == nil {
		own = interfaces
	}
	networks, err := own()
	if err != nil {
		return fmt.Errorf("check that %s is no address of this host: %w", address, err)
	}
	for _, network := range networks {
		if plain == network.Addr().Unmap() {
			return deny("an address of this host")
		}
		if plain == broadcast(network) {
			return deny("the broadcast address of a network of this host")
		}
	}
	if within(r.Deny, plain) {
		return deny("in a range that the platform denies")
	}
	allowed := within(r.Allow, plain)
	for _, c := range classes {
		if !c.prefix.Contains(plain) {
			continue
		}
		if allowed && !c.fixed {
			return nil
		}
		return deny(c.reason)
	}
	if plain.Is6() && !unicast.Contains(plain) {
		return deny("no public IPv6 address")
	}
	return nil
}

// Dial connects to an address that the rules open. The check runs again on the address of the socket itself.
func (r Rules) Dial(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
	if err := r.Check(to.Addr()); err != nil {
		return nil, err
	}
	connect := r.Connect
	if connect == nil {
		connect = dial
	}
	return connect(ctx, network, to.String(), r.Check)
}

func dial(ctx context.Context, network, address string, check func(netip.Addr) error) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		resolved, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return check(resolved.Addr())
	}}
	return dialer.DialContext(ctx, network, address)
}

// interfaces returns the addresses of all interfaces of this machine.
func interfaces() ([]netip.Prefix, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var found []netip.Prefix
	for _, a := range addresses {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil {
			return nil, err
		}
		found = append(found, prefix)
	}
	return found, nil
}

// broadcast returns the last address of an IPv4 network, or the zero Addr for networks that have no broadcast address.
func broadcast(network netip.Prefix) netip.Addr {
	if !network.Addr().Is4() || network.Bits() > 30 {
		return netip.Addr{}
	}
	last := network.Addr().As4()
	for bit := network.Bits(); bit < 32; bit++ {
		last[bit/8] |= 1 << (7 - bit%8)
	}
	return netip.AddrFrom4(last)
}

func within(ranges []netip.Prefix, address netip.Addr) bool {
	for _, r := range ranges {
		if r.Contains(address) {
			return true
		}
	}
	return false
}
