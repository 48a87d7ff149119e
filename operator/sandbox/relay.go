package sandbox

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// maxConnections bounds how many connections a command has open to one endpoint. Each
// takes two file descriptors of this process.
const maxConnections = 128

// dialTimeout bounds how long a connection to an endpoint may take.
const dialTimeout = 30 * time.Second

// After one side of a connection has closed its direction, the other side may continue
// for this long. A client has little left to send to a server that has closed. A server
// may need time to answer a client that has sent its request.
const (
	clientLinger = 10 * time.Second
	serverLinger = 2 * time.Minute
)

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

// Forward returns a function that connects to a server by dial and copies between it
// and a client, until both directions or ctx end. If dial fails, the client gets no
// answer.
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

// Join copies between a client and a server, in both directions, until both directions
// have ended. After one side has closed its direction, a deadline ends the other one.
func Join(client, server net.Conn) {
	var both sync.WaitGroup
	both.Go(func() {
		pass(server, client)
		_ = server.SetReadDeadline(time.Now().Add(serverLinger)) // A closed connection returns an error, and has ended already.
	})
	both.Go(func() {
		pass(client, server)
		_ = client.SetReadDeadline(time.Now().Add(clientLinger))
	})
	both.Wait()
}

// pass copies one direction and then closes the write side of to.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from) // An error ends the direction, too.
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
