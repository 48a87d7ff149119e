package ingress

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/strata-platform/strata/operator/accept"
)

// handshake is the first byte of a TLS connection (RFC 8446, section 5.1). No HTTP request begins with it.
const handshake = 22

// maxConnections bounds the open connections of browsers. Each takes a file descriptor of this process.
const maxConnections = 1024

// split divides the connections of one listener into those with TLS and those without.
type split struct {
	plain, secure *accept.Queue
}

func newSplit(address net.Addr) *split {
	return &split{accept.NewQueue(address), accept.NewQueue(address)}
}

// run divides connections until the listener is closed or ctx ends.
func (s *split) run(ctx context.Context, l net.Listener, failed func(error)) {
	accept.Loop{Places: maxConnections, Failed: failed, Serve: s.look}.Run(ctx, l)
	s.plain.Close()
	s.secure.Close()
}

// look reads the first byte of a connection, passes it on, and waits for its end. A client that sends nothing within
// headerTimeout loses the connection.
func (s *split) look(ctx context.Context, conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(headerTimeout))
	var first [1]byte
	if _, err := conn.Read(first[:]); err != nil || conn.SetReadDeadline(time.Time{}) != nil {
		return
	}
	to := s.plain
	if first[0] == handshake {
		to = s.secure
	}
	b := &begun{Conn: conn, first: first[:], closed: make(chan struct{})}
	if to.Add(ctx, b) != nil {
		return
	}
	select {
	case <-b.closed:
	case <-ctx.Done():
	}
}

// begun is a connection whose first byte is read already.
type begun struct {
	net.Conn
	first  []byte
	once   sync.Once
	closed chan struct{}
}

// Read implements net.Conn.
func (b *begun) Read(p []byte) (int, error) {
	if len(b.first) > 0 && len(p) > 0 {
		n := copy(p, b.first)
		b.first = b.first[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}

// Close implements net.Conn.
func (b *begun) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Conn.Close()
}
