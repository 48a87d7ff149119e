package accept

import (
	"context"
	"net"
	"sync"
)

// Queue is a listener for connections that this process has already accepted or made, so that an http.Server can serve
// them.
type Queue struct {
	address net.Addr
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// NewQueue returns an open queue. Addr returns address.
func NewQueue(address net.Addr) *Queue {
	return &Queue{address: address, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Add waits until Accept takes the connection. If the queue is closed or ctx ends first, Add closes the connection, and
// returns net.ErrClosed or the error of ctx.
func (q *Queue) Add(ctx context.Context, conn net.Conn) error {
	err := net.ErrClosed
	select {
	case q.conns <- conn:
		return nil
	case <-q.closed:
	case <-ctx.Done():
		err = ctx.Err()
	}
	conn.Close()
	return err
}

// Accept implements net.Listener.
func (q *Queue) Accept() (net.Conn, error) {
	select {
	case conn := <-q.conns:
		return conn, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It leaves accepted connections open.
func (q *Queue) Close() error {
	q.once.Do(func() { close(q.closed) })
	return nil
}

// Addr implements net.Listener.
func (q *Queue) Addr() net.Addr { return q.address }
