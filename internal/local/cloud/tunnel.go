package cloud

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/operator/accept"
)

// A client without a configurable endpoint, such as Pulumi's gs:// backend, uses the emulator as an HTTP proxy. The
// client requests a tunnel to one of Google's hosts, and the emulator itself serves the other end of the tunnel.

// TunnelVariables returns the environment that directs Google Cloud clients written in Go, without a configurable
// endpoint, to the emulator at baseURL instead of Google. certificates is a folder with a file that contains
// Server.Authority.
func TunnelVariables(baseURL, certificates string) map[string]string {
	return map[string]string{
		"HTTPS_PROXY": strings.TrimSuffix(baseURL, "/"),
		// Clients reach this machine without the proxy. They reach no other machine, because the tunnels lead only to
		// the emulator.
		"NO_PROXY": "localhost,127.0.0.1",
		// Go trusts this folder in addition to the system's certificate file.
		"SSL_CERT_DIR": certificates,
	}
}

// tunnels serves the connections of tunnels.
type tunnels struct {
	server *http.Server
	conns  *accept.Queue
}

func newTunnels(handler http.Handler, config *tls.Config) *tunnels {
	return &tunnels{
		server: &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, TLSConfig: config},
		conns:  accept.NewQueue(&net.TCPAddr{}),
	}
}

// serve serves connections until stop.
func (t *tunnels) serve() { _ = t.server.ServeTLS(t.conns, "", "") }

// stop ends all tunnels.
func (t *tunnels) stop() error { return errors.Join(t.conns.Close(), t.server.Close()) }

// Hosts returns Google's hosts that the emulator serves.
func (s *Server) Hosts() []string {
	hosts := []string{"oauth2.googleapis.com"}
	for _, svc := range s.core.Services() {
		hosts = append(hosts, svc.Name)
	}
	slices.Sort(hosts)
	return hosts
}

// openTunnel handles a CONNECT request. A tunnel leads only to the emulator itself, under the name of one of Google's
// hosts, because the client has not authenticated yet. The emulator authenticates every call in the tunnel, as it does
// without a tunnel.
func (s *Server) openTunnel(w http.ResponseWriter, r *http.Request) {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil || r.TLS != nil || port != "443" || !slices.Contains(s.Hosts(), host) {
		http.Error(w, fmt.Sprintf("no tunnel to %s: the emulated Google Cloud stands for port 443 of %s, and leads to no other address",
			api.Printable(r.Host), strings.Join(s.Hosts(), ", ")), http.StatusForbidden)
		return
	}
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "open a tunnel: "+err.Error(), http.StatusInternalServerError)
		return
	}
	_, err = near.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n"))
	if err != nil || buffered.Reader.Buffered() > 0 { // a client sends nothing before the response
		near.Close()
		return
	}
	_ = s.tunnels.conns.Add(r.Context(), near) // It closes the connection if the emulator ends.
}
