package outside

import (
	"errors"
	"net"
	"net/netip"
	"testing"
)

// own returns the addresses of an imaginary host with a public address.
func own() ([]netip.Prefix, error) {
	return []netip.Prefix{netip.MustParsePrefix("8.8.4.7/24"), netip.MustParsePrefix("2600::7/64")}, nil
}

func TestCheck(t *testing.T) {
	office := Rules{Own: own,
		Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")},
		Deny:  []netip.Prefix{netip.MustParsePrefix("10.1.9.0/24")}}
	for name, c := range map[string]struct {
		rules   Rules
		address string
		want    string // the error; empty means allowed
	}{
		"a public address is allowed":                       {Rules{Own: own}, "1.1.1.1", ""},
		"a public IPv6 address is allowed":                  {Rules{Own: own}, "2606:4700::1111", ""},
		"loopback is denied":                                {Rules{Own: own}, "127.0.0.1", "a loopback address"},
		"every loopback address is denied":                  {Rules{Own: own}, "127.9.9.9", "a loopback address"},
		"IPv6 loopback is denied":                           {Rules{Own: own}, "::1", "no public IPv6 address"},
		"loopback mapped into IPv6 is denied":               {Rules{Own: own}, "::ffff:127.0.0.1", "a loopback address"},
		"loopback behind a translator is denied":            {Rules{Own: own}, "64:ff9b::7f00:1", "no public IPv6 address"},
		"loopback in an address of 6to4 is denied":          {office, "2002:7f00:1::", "an address of 6to4"},
		"the unspecified address is denied":                 {Rules{Own: own}, "0.0.0.0", "an address of this host"},
		"the unspecified IPv6 address is denied":            {Rules{Own: own}, "::", "no public IPv6 address"},
		"the host's public address is denied":               {Rules{Own: own}, "8.8.4.7", "an address of this host"},
		"the host's public IPv6 address is denied":          {Rules{Own: own}, "2600::7", "an address of this host"},
		"the host's address mapped into IPv6 is denied":     {Rules{Own: own}, "::ffff:8.8.4.7", "an address of this host"},
		"the broadcast address of the host's network":       {Rules{Own: own}, "8.8.4.255", "the broadcast address of a network of this host"},
		"a neighbour of the host is public":                 {Rules{Own: own}, "8.8.4.8", ""},
		"the metadata address is denied":                    {Rules{Own: own}, "169.254.169.254", "a link-local address"},
		"IPv6 link-local is denied":                         {Rules{Own: own}, "fe80::1", "no public IPv6 address"},
		"a zone does not hide an address":                   {Rules{Own: own}, "2600::7%eth0", "an address of this host"},
		"multicast is denied":                               {Rules{Own: own}, "224.0.0.251", "a multicast address"},
		"broadcast is denied":                               {Rules{Own: own}, "255.255.255.255", "a reserved or broadcast address"},
		"a private address is denied":                       {Rules{Own: own}, "192.168.1.1", "a private address"},
		"a private IPv6 address is denied":                  {Rules{Own: own}, "fd00::1", "a private address"},
		"a listed private address is allowed":               {office, "10.1.2.3", ""},
		"a denied range within a listed one is denied":      {office, "10.1.9.3", "in a range that the platform denies"},
		"the widest list does not open loopback":            {office, "127.0.0.1", "a loopback address"},
		"the widest list does not open the host":            {office, "8.8.4.7", "an address of this host"},
		"the widest list does not open link-local":          {office, "169.254.169.254", "a link-local address"},
		"the widest list does not open IPv6 loopback":       {office, "::1", "no public IPv6 address"},
		"without the host's addresses everything is denied": {Rules{Own: func() ([]netip.Prefix, error) { return nil, errors.New("no netlink") }}, "1.1.1.1", "no netlink"},
		"an address of a carrier's network is denied":       {Rules{Own: own}, "100.64.0.1", "a shared address of a carrier"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.rules.Check(netip.MustParseAddr(c.address))
			var denied *Denied
			switch {
			case c.want == "" && err != nil, c.want != "" && err == nil:
				t.Errorf("Check(%s) returned %v; want %q", c.address, err, c.want)
			case errors.As(err, &denied) && denied.Reason != c.want:
				t.Errorf("Check(%s) names %q; want %q", c.address, denied.Reason, c.want)
			}
		})
	}
}

func TestTheHostsRealAddressesAreDenied(t *testing.T) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	everything := Rules{Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
	for _, a := range addresses {
		address := netip.MustParsePrefix(a.String()).Addr()
		if conn, err := everything.Dial(t.Context(), "tcp", netip.AddrPortFrom(address, 1)); err == nil {
			conn.Close()
			t.Errorf("a pod can dial %s, an address of this host", address)
		} else if denied := (*Denied)(nil); !errors.As(err, &denied) {
			t.Errorf("Dial(%s) returned %v; want a *Denied", address, err)
		}
	}
}

// TestTheSocketsAddressIsChecked dials a name, as a careless Connect would: the check runs on the resolved address.
func TestTheSocketsAddressIsChecked(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	conn, err := dial(t.Context(), "tcp", net.JoinHostPort("localhost", port), Rules{}.Check)
	if err == nil {
		conn.Close()
		t.Fatal("a name of a loopback address was dialled")
	}
	if denied := (*Denied)(nil); !errors.As(err, &denied) {
		t.Errorf("dial returned %v; want a *Denied", err)
	}
}
