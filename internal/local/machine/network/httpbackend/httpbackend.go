// Package httpbackend serves HTTP to pods in the process of the gateway, for example the metadata server at
// 169.254.169.254:80.
package httpbackend

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/network"
	"github.com/strata-platform/strata/operator/accept"
)

const (
	// headerTimeout and idleTimeout end the connections of pods that send nothing. The gateway bounds a pod's connections.
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	// maxHeader is the maximum length of a request's header in bytes.
	maxHeader = 32 << 10
)

// Server serves the connections of pods with an http.Handler. Its method Backend is a network.Backend.
type Server struct {
	server *http.Server
	conns  *accept.Queue
	ended  chan struct{} // closed when the server accepts no more connections
}

var _ network.Backend = (*Server)(nil).Backend

// New returns a server that serves until Close.
func New(handler http.Handler) *Server { return NewTLS(handler, nil) }

// NewTLS returns a server that serves HTTPS until Close. A nil config means HTTP.
func NewTLS(handler http.Handler, config *tls.Config) *Server {
	s := &Server{conns: accept.NewQueue(&net.TCPAddr{}), ended: make(chan struct{})}
	s.server = &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, TLSConfig: config,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if secure, ok := c.(*tls.Conn); ok {
				c = secure.NetConn()
			}
			if own, ok := c.(*conn); ok {
				ctx = context.WithValue(ctx, requestKey{}, own.request)
			}
			return ctx
		},
	}
	go func() {
		defer close(s.ended)
		// Both return when the queue ends, which is by Close.
		if config != nil {
			_ = s.server.ServeTLS(s.conns, "", "")
			return
		}
		_ = s.server.Serve(s.conns)
	}()
	return s
}

// Backend returns a connection to the handler. The connection ends with ctx.
func (s *Server) Backend(ctx context.Context, r network.Request) (net.Conn, error) {
	near, far := newPair(r)
	if err := s.conns.Add(ctx, far); err != nil {
		return nil, fmt.Errorf("connect to the HTTP server for pods: %w", err)
	}
	context.AfterFunc(ctx, func() { far.Close() })
	return near, nil
}

// Close ends all connections. It may be called more than once.
func (s *Server) Close() {
	s.conns.Close()
	s.server.Close()
	<-s.ended
	s.server.Close() // the connection that the server accepted meanwhile
}

// requestKey is the key of the network.Request in the context of an HTTP request.
type requestKey struct{}

// Pod returns the pod that makes an HTTP request, from the request's context. The gateway knows a pod by its link, so a pod
// cannot claim to be another. ok is false if the connection comes from the host.
func Pod(ctx context.Context) (pod network.Pod, ok bool) {
	r, ok := ctx.Value(requestKey{}).(network.Request)
	return r.Pod, ok && r.Pod.Name != ""
}
