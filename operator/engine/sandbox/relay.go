package sandbox

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// maxConnections bounds the connections that a command has open at once to one
// endpoint: each takes two descriptors of this process.
const maxConnections = 128

// dialTimeout bounds how long an endpoint may take to answer.
const dialTimeout = 30 * time.Second

// When one side of a connection has ended its direction, the other side may go on for
// this long: a client has little left to say to a server that has ended, and a server may
// take its time to answer a client that has asked.
const (
	clientLinger = 10 * time.Second
	serverLinger = 2 * time.Minute
)

// acceptRetry is how long a relay waits when the machine has no descriptor for the next
// connection.
const acceptRetry = 50 * time.Millisecond

func (e Endpoint) serve(ctx context.Context, conn net.Conn) {
	if e.Serve != nil {
		e.Serve(ctx, conn)
		return
	}
	Forward(e.dial)(ctx, conn)
}

func (e Endpoint) dial(ctx context.Context) (net.Conn, error) {
	address := e.Address
	if e.Name != "" {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		address = net.JoinHostPort(e.Name, port)
	}
	return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
}

// Relay serves the connections of a listener, at most as many at once as there are
// places, until the listener is closed. It closes each connection that serve has
// returned from, and all with ctx.
func Relay(ctx context.Context, listener net.Listener, places int, serve func(context.Context, net.Conn)) {
	var open sync.WaitGroup
	defer open.Wait()
	taken := make(chan struct{}, places)
	for {
		select {
		case taken <- struct{}{}:
		case <-ctx.Done():
			return
		}
		conn, err := accept(ctx, listener)
		if err != nil {
			return
		}
		open.Go(func() {
			defer func() { <-taken }()
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			serve(ctx, conn)
		})
	}
}

// accept returns the next connection. It fails when the listener is closed or ctx ends:
// other errors pass, as a client that gave up or a lack of descriptors does.
func accept(ctx context.Context, listener net.Listener) (net.Conn, error) {
	for {
		conn, err := listener.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return conn, err
		}
		select {
		case <-time.After(acceptRetry):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Forward returns a function that carries a connection to what dial connects to, until
// one of them or ctx ends. A connection for which dial fails is left without an answer.
func Forward(dial func(context.Context) (net.Conn, error)) func(context.Context, net.Conn) {
	return func(ctx context.Context, client net.Conn) {
		server, err := dial(ctx)
		if err != nil {
			return
		}
		defer server.Close()
		defer context.AfterFunc(ctx, func() { server.Close() })()
		Join(client, server)
	}
}

// Join copies between a client and a server, both ways, until both directions have
// ended. Neither side can hold the connection for ever once the other has ended.
func Join(client, server net.Conn) {
	var both sync.WaitGroup
	both.Go(func() {
		pass(server, client)
		_ = server.SetReadDeadline(time.Now().Add(serverLinger)) // A closed connection has ended already.
	})
	both.Go(func() {
		pass(client, server)
		_ = client.SetReadDeadline(time.Now().Add(clientLinger))
	})
	both.Wait()
}

// pass copies one direction and hands its end on.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from) // However it ends, the other side is told.
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
