package egress

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/proxy"
)

// client returns a client of the proxy like that of Flux's controllers.
func client(t *testing.T) proxy.ContextDialer {
	t.Helper()
	dialer, err := proxy.SOCKS5("tcp", Address, nil, dialer{t})
	if err != nil {
		t.Fatal(err)
	}
	return dialer.(proxy.ContextDialer)
}

type dialer struct{ *testing.T }

func (d dialer) Dial(string, string) (net.Conn, error) {
	program, conn := net.Pipe()
	go func() {
		Serve(d.Context(), conn)
		conn.Close()
	}()
	return program, nil
}

func TestNothingOfThisMachineIsReached(t *testing.T) {
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{"127.0.0.1", "127.1.2.3", "localhost", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1", "169.254.169.254", "fe80::1", "224.0.0.1"}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range own {
		hosts = append(hosts, netip.MustParsePrefix(address.String()).Addr().String())
	}
	for _, host := range hosts {
		conn, err := client(t).DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		if err == nil {
			conn.Close()
			t.Errorf("%s is reached", host)
		} else if !strings.Contains(err.Error(), "not allowed") {
			t.Errorf("%s: %v, want that it is not allowed", host, err)
		}
	}
}

func TestOtherMachinesAreAllowed(t *testing.T) {
	own := []net.Addr{&net.IPNet{IP: net.IPv4(192, 0, 2, 7), Mask: net.CIDRMask(24, 32)}}
	for address, want := range map[string]bool{
		"192.0.2.8": true, "10.1.2.3": true, "2001:db8::1": true, "192.0.2.7": false, "::ffff:192.0.2.7": false, "169.254.169.254": false,
		"fd00:ec2::254": false, "100.100.100.200": false, "168.63.129.16": false, "::ffff:168.63.129.16": false,
	} {
		if got := allowed(netip.MustParseAddr(address), own); got != want {
			t.Errorf("%s is allowed: %v, want %v", address, got, want)
		}
	}
}

func FuzzAsk(f *testing.F) {
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x03\x07example\x01\xbb"))
	f.Add([]byte("\x05\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50"))
	f.Fuzz(func(t *testing.T, data []byte) {
		host, _, code := ask(&stream{strings.NewReader(string(data))})
		if code == granted && host == "" {
			t.Error("a request without a host is granted")
		}
	})
}

// stream reads a program's request and discards the reply.
type stream struct{ *strings.Reader }

func (*stream) Write(p []byte) (int, error) { return len(p), nil }
