// Package tunnel serves the connections of the API server to pods, Services and the node's API, as the proxy of its egress
// selector (Kubernetes, KEP-1281).
package tunnel

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/network/relay"
)

const (
	// headerTimeout bounds the wait for a request. The API server sends it at once.
	headerTimeout = 10 * time.Second
	// nodeTimeout bounds the connection to the node's API, on this machine.
	nodeTimeout = 10 * time.Second
)

// Options configures a tunnel. All fields are required.
type Options struct {
	// Client returns the PID of the API server, or 0 while it does not run. Other processes get no connection: the socket's
	// mode excludes other users, but not a team's programs, which run as the same user, and no NetworkPolicy applies to
	// the tunnel.
	Client func() int
	// Dial connects to an address of a pod or a Service. It rejects all others.
	Dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// Node returns the address of the node's API, the only address of this machine that the tunnel leads to.
	Node func() (netip.AddrPort, error)
	Log  *slog.Logger
}

// Serve serves a Unix socket until ctx ends. Then it closes the socket and all connections, and returns.
func Serve(ctx context.Context, l net.Listener, o Options) {
	var open sync.WaitGroup
	server := &http.Server{
		Handler:           &handler{o, ctx, &open},
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(&checked{l, o}); ctx.Err() == nil {
		o.Log.Error("serve the API server's connections to pods", "error", err)
	}
	open.Wait()
}

// checked is a listener that accepts only the API server.
type checked struct {
	net.Listener
	options Options
}

// Accept implements net.Listener.
func (c *checked) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if err := checkPeer(conn, c.options.Client()); err != nil {
			c.options.Log.Warn("rejected a connection to the pods' network", "reason", err.Error())
			conn.Close()
			continue
		}
		return conn, nil
	}
}

// handler answers CONNECT requests.
type handler struct {
	Options
	ctx  context.Context
	open *sync.WaitGroup
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.open.Add(1)
	defer h.open.Done()
	if r.Method != http.MethodConnect {
		http.Error(w, "send a CONNECT request", http.StatusMethodNotAllowed)
		return
	}
	other, err := h.dial(r.Host)
	client, _, hijacked := http.NewResponseController(w).Hijack()
	if hijacked != nil {
		if err == nil {
			other.Close()
		}
		http.Error(w, hijacked.Error(), http.StatusInternalServerError)
		return
	}
	defer client.Close()
	// The API server shows only the status line to its client.
	if err != nil {
		reason := strings.NewReplacer("\r", " ", "\n", "; ").Replace(err.Error())
		fmt.Fprintf(client, "HTTP/1.1 502 %s\r\n\r\n", reason)
		return
	}
	if _, err := client.Write([]byte("HTTP/1.1 200 Connected\r\n\r\n")); err != nil {
		other.Close()
		return
	}
	relay.Streams(h.ctx, client, other)
}

// dial connects to an address that the API server asks for. It looks up no names: the API server uses the addresses of
// Services and of the node.
func (h *handler) dial(address string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("connect to %q: it is not an IP address with a port: use a Service with an address", address)
	}
	node, err := h.Node()
	if err != nil {
		return nil, err
	}
	if to == node {
		ctx, cancel := context.WithTimeout(h.ctx, nodeTimeout)
		defer cancel()
		return new(net.Dialer).DialContext(ctx, "tcp", to.String())
	}
	return h.Dial(h.ctx, to)
}
