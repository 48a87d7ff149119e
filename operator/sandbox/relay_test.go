package sandbox_test

import (
	"context"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/strata-platform/strata/operator/accept"
	"github.com/strata-platform/strata/operator/sandbox"
)

func TestOpenConnectionDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := &listener{conns: make(chan net.Conn), errs: make(chan error)}
		ctx, cancel := context.WithCancel(t.Context())
		listener.ctx, listener.cancel = ctx, cancel
		relayed := make(chan struct{})
		go func() {
			defer close(relayed)
			accept.Loop{Places: 1, Serve: sandbox.Forward(func(context.Context) (net.Conn, error) {
				own, conn := net.Pipe()
				go func() {
					_, _ = io.WriteString(own, "bye")
					own.Close()
				}()
				return conn, nil
			})}.Run(ctx, listener)
		}()
		for range 3 { // None of them closes its connection.
			client, conn := net.Pipe()
			listener.errs <- syscall.EMFILE
			listener.conns <- conn
			if word, err := io.ReadAll(client); err != nil || string(word) != "bye" {
				t.Errorf("%q, error %v", word, err)
			}
		}
		listener.Close()
		<-relayed
	})
}

func TestServerThatIsSilentHoldsNoConnectionForEver(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		own, client := net.Pipe()
		server, silent := net.Pipe()
		own.Close()
		sandbox.Join(client, server) // If Join did not return, synctest would report a deadlock.
		silent.Close()
	})
}

// listener returns the connections and errors that the test sends to it.
type listener struct {
	conns chan net.Conn
	errs  chan error
	// cancel ends ctx, which closes the listener.
	ctx    context.Context
	cancel context.CancelFunc
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case err := <-l.errs:
		return nil, err
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.cancel()
	return nil
}

func (*listener) Addr() net.Addr { return nil }
