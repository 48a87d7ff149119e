// Package accept serves the connections of a listener, with a bound on the number of open connections.
package accept

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// pause is the wait after a failed accept, for example when this process has no free file descriptor.
const pause = 50 * time.Millisecond

// Loop serves the connections of a listener.
type Loop struct {
	// Places bounds how many connections are served at once. Further clients wait in the queue of the operating system.
	Places int
	// Serve serves a connection, which closes when Serve returns, and when the context of Run ends.
	Serve func(context.Context, net.Conn)
	// Failed gets the errors of accept, if it is set. They are temporary: a client gave up, or file descriptors ran out.
	Failed func(error)
}

// Run serves until the listener is closed or ctx ends. It then closes the listener, and returns when every Serve has
// returned.
func (l Loop) Run(ctx context.Context, listener net.Listener) {
	var open sync.WaitGroup
	defer open.Wait()
	defer listener.Close()
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	taken := make(chan struct{}, l.Places)
	for {
		select {
		case taken <- struct{}{}:
		case <-ctx.Done():
			return
		}
		conn, err := l.next(ctx, listener)
		if err != nil {
			return
		}
		open.Go(func() {
			defer func() { <-taken }()
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			l.Serve(ctx, conn)
		})
	}
}

// next returns the next connection. It fails only if the listener is closed or ctx ends.
func (l Loop) next(ctx context.Context, listener net.Listener) (net.Conn, error) {
	for {
		conn, err := listener.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return conn, err
		}
		if l.Failed != nil {
			l.Failed(err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
