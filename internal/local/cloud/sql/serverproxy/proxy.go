package serverproxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
	"github.com/strata-platform/strata/operator/accept"
)

const (
	// handshakeTimeout is how long a client may take to prove that it has a certificate, and dialTimeout how long a
	// connection to the server may take.
	handshakeTimeout = 10 * time.Second
	dialTimeout      = 10 * time.Second
	// maxConnections bounds the connections of clients, with and without a certificate. It is the limit of the server
	// itself, so clients without a certificate cannot take more of the emulator's memory than those of port 3306.
	maxConnections = 1000
)

// Proxy serves the clients of one instance that have an ephemeral certificate: it ends their TLS, and forwards their
// connections to the server.
type Proxy struct {
	config  *tls.Config
	target  string
	cancel  context.CancelFunc
	serving sync.WaitGroup
}

// Listen serves clients at engine.ProxyPort of a server's address until Close, and forwards them to the server. now
// returns the time at which the certificates of clients must be valid. Each new connection needs a valid certificate; an
// open connection may outlive its certificate, as on Cloud SQL.
func Listen(address string, of Instance, authorities Authorities, now func() time.Time) (*Proxy, error) {
	clients, err := authorities.Client.pool()
	if err != nil {
		return nil, err
	}
	certificate, err := authorities.serverCertificate(of, now())
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(address, engine.ProxyPort))
	if err != nil {
		return nil, fmt.Errorf("listen for the connectors of instance %s: another program may use the address, end it first: %w", of.commonName(), err)
	}
	p := &Proxy{
		target: net.JoinHostPort(address, engine.Port),
		config: &tls.Config{
			Certificates: []tls.Certificate{certificate},
			ClientAuth:   tls.RequireAndVerifyClientCert,
			ClientCAs:    clients,
			MinVersion:   tls.VersionTLS12,
			Time:         now,
			// A resumed session would not present the certificate again.
			SessionTicketsDisabled: true,
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.serving.Go(func() { accept.Loop{Places: maxConnections, Serve: p.serve}.Run(ctx, listener) })
	return p, nil
}

// Close ends all connections and waits for their end. It may be called more than once.
func (p *Proxy) Close() {
	p.cancel()
	p.serving.Wait()
}

// serve checks the certificate of a client, then forwards the connection until one side ends it. The client learns of a
// rejected certificate by a TLS alert.
func (p *Proxy) serve(ctx context.Context, client net.Conn) {
	secure := tls.Server(client, p.config)
	handshake, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if secure.HandshakeContext(handshake) != nil {
		return
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	server, err := dialer.DialContext(ctx, "tcp", p.target)
	if err != nil {
		return // The server is about to start or to stop: connectors try again.
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() { server.Close() })()
	join(secure, server)
}

// join copies in both directions until one of them ends, and closes both connections. Neither side of MySQL's protocol
// ends only one direction.
func join(client, server net.Conn) {
	var upward sync.WaitGroup
	upward.Go(func() {
		_, _ = io.Copy(server, client) // The reason why a connection ends changes nothing.
		server.Close()
	})
	_, _ = io.Copy(client, server)
	client.Close()
	upward.Wait()
}
