package ingress

import (
	"context"
	"net"
	"sync"
	"time"
)

// handshake is the first byte of a TLS connection (RFC 8446, section 5.1). No HTTP request begins with it.
const handshake = 22

// split divides the connections of one listener into those with TLS and those without.
type split struct {
	ctx           context.Context
	listener      net.Listener
	plain, secure *part
}

func newSplit(ctx context.Context, l net.Listener) *split {
	return &split{ctx, l, newPart(l.Addr()), newPart(l.Addr())}
}

// run divides connections until the listener is closed, and returns its error.
func (s *split) run() error {
	var looking sync.WaitGroup
	defer looking.Wait()
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			s.plain.Close()
			s.secure.Close()
			return err
		}
		looking.Go(func() { s.look(conn) })
	}
}

// look reads the first byte of a connection. A client that sends none within headerTimeout loses the connection.
func (s *split) look(conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(headerTimeout))
	stop := context.AfterFunc(s.ctx, func() { conn.Close() })
	defer stop()
	var first [1]byte
	if _, err := conn.Read(first[:]); err != nil || conn.SetReadDeadline(time.Time{}) != nil {
		conn.Close()
		return
	}
	to := s.plain
	if first[0] == handshake {
		to = s.secure
	}
	to.add(&begun{Conn: conn, first: first[:]})
}

// begun is a connection whose first byte is read already.
type begun struct {
	net.Conn
	first []byte
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

// part is a listener with the connections of one kind.
type part struct {
	address net.Addr
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newPart(address net.Addr) *part {
	return &part{address: address, conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *part) add(conn net.Conn) {
	select {
	case p.conns <- conn:
	case <-p.closed:
		conn.Close()
	}
}

// Accept implements net.Listener.
func (p *part) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *part) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *part) Addr() net.Addr { return p.address }
