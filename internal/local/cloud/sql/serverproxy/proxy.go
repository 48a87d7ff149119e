package serverproxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
)

const (
	// handshakeTimeout is how long a client may take to prove that it has a certificate, and dialTimeout how long a
	// connection to the server may take.
	handshakeTimeout = 10 * time.Second
	dialTimeout      = 10 * time.Second
	// maxConnections bounds the connections of clients, with and without a certificate. It is the limit of the server
	// itself, so clients without a certificate cannot take more of the emulator's memory than those of port 3306.
	maxConnections = 1000
	// retryAccept is the pause after a failed accept, for example while the process has too many open files.
	retryAccept = 50 * time.Millisecond
)

// Proxy serves the clients of one instance that have an ephemeral certificate: it ends their TLS, and forwards their
// connections to the server.
type Proxy struct {
	listener net.Listener
	config   *tls.Config
	target   string
	ctx      context.Context
	cancel   context.CancelFunc
	slots    chan struct{}
	serving  sync.WaitGroup
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
		listener: listener, target: net.JoinHostPort(address, engine.Port), slots: make(chan struct{}, maxConnections),
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
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.serving.Go(p.accept)
	return p, nil
}

// Close ends all connections and waits for their end. It may be called more than once.
func (p *Proxy) Close() {
	p.cancel()
	p.listener.Close()
	p.serving.Wait()
}

// accept serves clients until Close. A client beyond maxConnections waits in the listener's queue.
func (p *Proxy) accept() {
	for {
		select {
		case p.slots <- struct{}{}:
		case <-p.ctx.Done():
			return
		}
		client, err := p.listener.Accept()
		if err != nil {
			<-p.slots
			if errors.Is(err, net.ErrClosed) {
				return
			}
			select {
			case <-time.After(retryAccept):
				continue
			case <-p.ctx.Done():
				return
			}
		}
		p.serving.Go(func() {
			defer func() { <-p.slots }()
			p.serve(client)
		})
	}
}

// serve checks the certificate of a client, then forwards the connection until one side ends it. The client learns of a
// rejected certificate by a TLS alert.
func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	defer context.AfterFunc(p.ctx, func() { client.Close() })()
	secure := tls.Server(client, p.config)
	ctx, cancel := context.WithTimeout(p.ctx, handshakeTimeout)
	defer cancel()
	if secure.HandshakeContext(ctx) != nil {
		return
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	server, err := dialer.DialContext(p.ctx, "tcp", p.target)
	if err != nil {
		return // The server is about to start or to stop: connectors try again.
	}
	defer server.Close()
	defer context.AfterFunc(p.ctx, func() { server.Close() })()
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
