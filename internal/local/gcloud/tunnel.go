package gcloud

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// A client whose endpoint cannot be set, such as Pulumi's gs:// backend, reaches the emulator as a proxy: it asks for a
// tunnel to a host of Google's, and the emulator is what is at the other end.

// TunnelVariables returns the environment in which clients of Google Cloud without an endpoint of their own, written in
// Go, reach the emulator at baseURL, and never Google. certificates is a folder that holds Server.Authority in a file.
func TunnelVariables(baseURL, certificates string) map[string]string {
	return map[string]string{
		"HTTPS_PROXY": strings.TrimSuffix(baseURL, "/"),
		// What is on this machine is reached without a proxy. The rest is not reached: the tunnels lead to the emulator only.
		"NO_PROXY": "localhost,127.0.0.1",
		// Beside the certificates of the system, which Go takes from a file.
		"SSL_CERT_DIR": certificates,
	}
}

// tunnels serves the connections that clients made by asking for a tunnel.
type tunnels struct {
	server *http.Server
	conns  chan net.Conn
	done   chan struct{}
	once   sync.Once
}

func newTunnels(handler http.Handler, certificate tls.Certificate) *tunnels {
	t := &tunnels{conns: make(chan net.Conn), done: make(chan struct{})}
	t.server = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	return t
}

// Accept implements net.Listener.
func (t *tunnels) Accept() (net.Conn, error) {
	select {
	case conn := <-t.conns:
		return conn, nil
	case <-t.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (t *tunnels) Close() error {
	t.once.Do(func() { close(t.done) })
	return nil
}

// Addr implements net.Listener.
func (t *tunnels) Addr() net.Addr { return &net.TCPAddr{} }

// take has a connection served.
func (t *tunnels) take(conn net.Conn) {
	select {
	case t.conns <- conn:
	case <-t.done:
		conn.Close()
	}
}

// serve serves until stop. Accept gives no other error.
func (t *tunnels) serve() { _ = t.server.ServeTLS(t, "", "") }

// stop ends the tunnels.
func (t *tunnels) stop() error { return errors.Join(t.Close(), t.server.Close()) }

// hosts are the hosts of Google's that the emulator stands for.
func (s *Server) hosts() []string {
	hosts := []string{"oauth2.googleapis.com"}
	for _, svc := range s.services {
		hosts = append(hosts, svc.name)
	}
	slices.Sort(hosts)
	return hosts
}

// openTunnel answers a request for a tunnel. A tunnel leads to the emulator itself, as one of Google's hosts, and nowhere
// else: who asks for one has not logged in, and at its end every call is authenticated as it is without a tunnel.
func (s *Server) openTunnel(w http.ResponseWriter, r *http.Request) {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil || r.TLS != nil || port != "443" || !slices.Contains(s.hosts(), host) {
		http.Error(w, fmt.Sprintf("no tunnel to %s: the emulated Google Cloud stands for port 443 of %s, and leads to no other address",
			shown(r.Host), strings.Join(s.hosts(), ", ")), http.StatusForbidden)
		return
	}
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "open a tunnel: "+err.Error(), http.StatusInternalServerError)
		return
	}
	_, err = near.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n"))
	if err != nil || buffered.Reader.Buffered() > 0 { // a client speaks only after it is answered
		near.Close()
		return
	}
	s.tunnels.take(near)
}
