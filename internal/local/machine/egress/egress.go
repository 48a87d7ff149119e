// Package egress lets programs without a network of their own reach other machines, as a proxy for
// the protocol SOCKS 5 (RFC 1928). The proxy connects to no service of this machine.
package egress

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/strata-platform/strata/operator/sandbox"
)

const (
	// Address is the address of the proxy, in the network namespace of each confined program.
	Address = "127.0.0.1:1080"

	// URL is the proxy for the kinds of Flux, which refuse the scheme socks5h. Go's HTTP client leaves the names of hosts to the proxy under
	// both.
	URL = "socks5://" + Address

	// askTimeout bounds how long a program may take to send its request. connectTimeout bounds how long another
	// machine may take to answer.
	askTimeout     = 10 * time.Second
	connectTimeout = 30 * time.Second
)

// Variables returns the environment variables that direct programs to the proxy. Go's HTTP client and its proxy
// library (golang.org/x/net/proxy) never use a proxy for loopback addresses, or for hosts in NO_PROXY.
func Variables() map[string]string {
	url := "socks5h://" + Address
	return map[string]string{"HTTP_PROXY": url, "HTTPS_PROXY": url, "ALL_PROXY": url, "NO_PROXY": "127.0.0.0/8,localhost"}
}

// These are constants of the protocol (RFC 1928, sections 3 to 6).
const (
	version       = 5
	noLogin       = 0
	commandTCP    = 1
	addressIPv4   = 1
	addressName   = 3
	addressIPv6   = 4
	granted       = 0
	notAllowed    = 2
	unreachable   = 4
	badCommand    = 7
	badKind       = 8
	noMethod      = 0xff
	replyTrailing = "\x00\x01\x00\x00\x00\x00\x00\x00" // reserved byte and empty address
)

// Serve serves a connection to the proxy until the connection or ctx ends.
func Serve(ctx context.Context, conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(askTimeout))
	host, port, code := ask(conn)
	if code != granted {
		reply(conn, code)
		return
	}
	upstream, code := connect(ctx, host, port)
	_ = conn.SetDeadline(time.Time{})
	reply(conn, code)
	if code == granted {
		sandbox.Forward(func(context.Context) (net.Conn, error) { return upstream, nil })(ctx, conn)
	}
}

// reply sends the answer to a request. code is granted or an error of the protocol.
func reply(conn net.Conn, code byte) {
	// The program may have closed the connection.
	_, _ = io.WriteString(conn, string([]byte{version, code})+replyTrailing)
}

// ask reads a program's request. code is granted if the request is valid.
func ask(conn io.ReadWriter) (host string, port uint16, code byte) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(conn, head); err != nil || head[0] != version {
		return "", 0, noMethod
	}
	if _, err := io.CopyN(io.Discard, conn, int64(head[1])); err != nil {
		return "", 0, noMethod
	}
	if _, err := conn.Write([]byte{version, noLogin}); err != nil {
		return "", 0, noMethod
	}
	request := make([]byte, 4)
	if _, err := io.ReadFull(conn, request); err != nil || request[0] != version || request[1] != commandTCP {
		return "", 0, badCommand
	}
	size := map[byte]int{addressIPv4: net.IPv4len, addressIPv6: net.IPv6len}[request[3]]
	if request[3] == addressName {
		length := make([]byte, 1)
		if _, err := io.ReadFull(conn, length); err != nil {
			return "", 0, badKind
		}
		size = int(length[0])
	}
	if size == 0 {
		return "", 0, badKind
	}
	rest := make([]byte, size+2)
	if _, err := io.ReadFull(conn, rest); err != nil {
		return "", 0, badKind
	}
	host = string(rest[:size])
	if request[3] != addressName {
		host = net.IP(rest[:size]).String()
	}
	return host, binary.BigEndian.Uint16(rest[size:]), granted
}

// connect connects to the first allowed address of a host.
func connect(ctx context.Context, host string, port uint16) (net.Conn, byte) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, unreachable
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return nil, unreachable
	}
	code := byte(notAllowed)
	for _, address := range addresses {
		if !allowed(address, own) {
			continue
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(address.Unmap().String(), strconv.Itoa(int(port))))
		if err == nil {
			return conn, granted
		}
		code = unreachable
	}
	return nil, code
}

// metadata are the addresses outside the link-local range at which clouds serve metadata and credentials: Amazon's for
// IPv6, Alibaba's and Azure's.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16"),
}

// allowed reports whether an address belongs to another machine. It excludes loopback addresses, the addresses of this
// machine's interfaces, and the addresses at which clouds serve metadata and credentials: link-local addresses and
// those in metadata.
func allowed(address netip.Addr, own []net.Addr) bool {
	address = address.Unmap()
	if !address.IsGlobalUnicast() || address.IsLoopback() || address.IsLinkLocalUnicast() || slices.Contains(metadata, address) {
		return false
	}
	for _, interfaceAddress := range own {
		if prefix, err := netip.ParsePrefix(interfaceAddress.String()); err == nil && prefix.Addr().Unmap() == address {
			return false
		}
	}
	return true
}
