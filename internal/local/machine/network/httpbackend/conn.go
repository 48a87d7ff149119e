package httpbackend

import (
	"errors"
	"net"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/network"
)

// conn is one end of a connection in memory. Each direction is a pipe of its own, so that one end can close its direction
// and still read the answer.
type conn struct {
	in, out       net.Conn
	local, remote net.Addr
	request       network.Request
}

// newPair returns the two ends of a connection: that of the gateway and that of the server.
func newPair(r network.Request) (near, far *conn) {
	nearIn, farOut := net.Pipe()
	farIn, nearOut := net.Pipe()
	client, server := &net.TCPAddr{IP: r.Pod.IP.AsSlice()}, net.TCPAddrFromAddrPort(r.Address)
	return &conn{nearIn, nearOut, client, server, r}, &conn{farIn, farOut, server, client, r}
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) { return c.in.Read(b) }

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) { return c.out.Write(b) }

// CloseWrite ends the direction to the other end.
func (c *conn) CloseWrite() error { return c.out.Close() }

// Close implements net.Conn.
func (c *conn) Close() error { return errors.Join(c.in.Close(), c.out.Close()) }

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.in.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.out.SetWriteDeadline(t) }
