// Package guard keeps pulls for pods away from this machine and its private networks: a team chooses the address in the name
// of an image, and a registry chooses those of its redirects.
package guard

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/network/outside"
)

// Transport returns a transport that connects only to addresses that rules open to pods. Requests that the proxy of the
// environment serves go to the proxy, unless they name a closed address; the proxy resolves names itself.
func Transport(rules outside.Rules) http.RoundTripper {
	direct := http.DefaultTransport.(*http.Transport).Clone()
	direct.Proxy = nil
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: dialTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return closed(rules, to.Addr())
	}}
	direct.DialContext = dialer.DialContext
	return transport{rules: rules, direct: direct, proxied: http.DefaultTransport}
}

const dialTimeout = 30 * time.Second

// transport chooses between two transports.
type transport struct {
	rules           outside.Rules
	direct, proxied http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	proxy, err := http.ProxyFromEnvironment(r)
	if err != nil {
		return nil, err
	}
	if proxy == nil {
		return t.direct.RoundTrip(r)
	}
	if address, err := netip.ParseAddr(r.URL.Hostname()); err == nil {
		if err := closed(t.rules, address); err != nil {
			return nil, err
		}
	}
	return t.proxied.RoundTrip(r)
}

// closed returns an error for an address that the rules close. A retry does not help, unlike after other errors of a
// connection.
func closed(rules outside.Rules, address netip.Addr) error {
	err := rules.Check(address)
	if denied, ok := errors.AsType[*outside.Denied](err); ok {
		return &fault.Error{Kind: fault.Denied, Object: "registry at " + denied.Address.String(),
			Why:  "pods may not pull from this address: it is " + denied.Reason,
			Next: "ask the platform engineer to run strata image pull, or push the image to the home's registry"}
	}
	return err
}
