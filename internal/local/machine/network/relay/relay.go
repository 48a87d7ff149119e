// Package relay copies bytes between two connections of a pod, and packets between two sockets.
package relay

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// chunk is the size, in bytes, of one copy. Larger chunks are not faster: the stacks' buffers have this size, too.
const chunk = 64 << 10

var chunks = sync.Pool{New: func() any { b := make([]byte, chunk); return &b }}

// Streams copies both directions of two streams until both have ended, one has failed, or ctx ends. The end of one
// direction closes the other stream for writing only, so a client that has sent its request still gets the answer. A slow
// reader stops the sender, because a copy waits for the write before its next read. Streams closes both, and resets them
// after a failure or the end of ctx, so that no end takes a part of the data for all of it.
func Streams(ctx context.Context, a, b net.Conn) {
	reset := func() { Reset(a); Reset(b) }
	stop := context.AfterFunc(ctx, reset)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !direction(a, b) {
			reset()
		}
	}()
	if !direction(b, a) {
		reset()
	}
	<-done
	a.Close()
	b.Close()
}

// Reset closes a connection so that the other end sees a reset, if the connection can do this.
func Reset(c net.Conn) {
	switch c := c.(type) {
	case interface{ Abort() }:
		c.Abort()
	case interface{ SetLinger(seconds int) error }:
		// Without this option the close below is orderly.
		_ = c.SetLinger(0)
	}
	c.Close()
}

// direction copies one direction and passes its end on. It returns false if the connection failed.
func direction(to, from net.Conn) bool {
	buffer := chunks.Get().(*[]byte)
	defer chunks.Put(buffer)
	// A plain reader and writer: io.CopyBuffer ignores the buffer for types that copy themselves.
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, *buffer)
	if err != nil {
		return false
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite() == nil
	}
	// A connection without half-closed state ends as a whole, and with it the other direction.
	return to.Close() == nil
}

// Packets copies both directions of two packet connections until one fails, ctx ends, or no packet has arrived for the
// time that idle returns. Its argument tells whether b has ever answered. Each packet sets `active` to the current time, in
// nanoseconds since 1970. Packets closes both.
func Packets(ctx context.Context, a, b net.Conn, idle func(answered bool) time.Duration, active *atomic.Int64) {
	both := func() { a.Close(); b.Close() }
	stop := context.AfterFunc(ctx, both)
	defer stop()
	defer both()
	var answered atomic.Bool
	touch := func() { active.Store(time.Now().UnixNano()) }
	touch()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer both()
		packets(a, b, func() { answered.Store(true); touch() }, func() time.Duration {
			return time.Until(time.Unix(0, active.Load()).Add(idle(answered.Load())))
		})
	}()
	packets(b, a, touch, func() time.Duration {
		return time.Until(time.Unix(0, active.Load()).Add(idle(answered.Load())))
	})
	both()
	<-done
}

// packets copies packets in one direction. It ends when `left`, the time until the flow is idle, is over.
func packets(to, from net.Conn, touch func(), left func() time.Duration) {
	buffer := chunks.Get().(*[]byte)
	defer chunks.Put(buffer)
	for {
		wait := left()
		if wait <= 0 || from.SetReadDeadline(time.Now().Add(wait)) != nil {
			return
		}
		n, err := from.Read(*buffer)
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
			continue // the other direction may have been active
		}
		if err != nil {
			return
		}
		touch()
		// A packet that is too large for the other network is lost, as on a router; the flow goes on.
		if _, err := to.Write((*buffer)[:n]); errors.Is(err, net.ErrClosed) {
			return
		}
	}
}
