package accept_test

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/strata-platform/strata/operator/accept"
)

// failing is a listener whose first accepts fail.
type failing struct {
	net.Listener
	errs []error
}

func (f *failing) Accept() (net.Conn, error) {
	if len(f.errs) == 0 {
		return f.Listener.Accept()
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	return nil, err
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func dial(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestFailedAcceptsEndNothing(t *testing.T) {
	l := &failing{listen(t), []error{syscall.EMFILE, syscall.ECONNABORTED}}
	var failed []error
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		accept.Loop{Places: 1, Failed: func(err error) { failed = append(failed, err) }, Serve: func(_ context.Context, conn net.Conn) {
			_, _ = io.WriteString(conn, "hello")
		}}.Run(ctx, l)
	}()
	if got, err := io.ReadAll(dial(t, l)); string(got) != "hello" {
		t.Errorf("the client read %q: %v", got, err)
	}
	cancel()
	<-ended
	if len(failed) != 2 || !errors.Is(failed[0], syscall.EMFILE) || !errors.Is(failed[1], syscall.ECONNABORTED) {
		t.Errorf("the reported errors are %v", failed)
	}
}

func TestClientBeyondThePlacesWaitsForOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := accept.NewQueue(&net.TCPAddr{})
		began, release := 0, make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go accept.Loop{Places: 2, Serve: func(context.Context, net.Conn) {
			began++ // synctest.Wait orders this before the reads below.
			<-release
		}}.Run(ctx, l)
		for range 3 {
			_, conn := net.Pipe()
			go func() { _ = l.Add(ctx, conn) }()
			synctest.Wait()
		}
		if began != 2 {
			t.Errorf("%d connections are served in two places", began)
		}
		release <- struct{}{}
		synctest.Wait()
		if began != 3 {
			t.Errorf("the third connection is not served after the end of another")
		}
		close(release)
		cancel()
	})
}

func TestEndOfTheContextClosesTheListenerAndEveryConnection(t *testing.T) {
	l := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	began, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		accept.Loop{Places: 1, Serve: func(_ context.Context, conn net.Conn) {
			close(began)
			_, _ = io.Copy(io.Discard, conn)
		}}.Run(ctx, l)
	}()
	client := dial(t, l)
	<-began
	cancel()
	<-ended
	if _, err := io.ReadAll(client); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client's connection ends with %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is not closed: %v", err)
	}
}

func TestQueueClosesConnectionsThatNobodyTakes(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	closed := accept.NewQueue(&net.TCPAddr{})
	closed.Close()
	for name, test := range map[string]struct {
		ctx   context.Context
		queue *accept.Queue
		want  error
	}{
		"when its context has ended": {ended, accept.NewQueue(&net.TCPAddr{}), context.Canceled},
		"when it is closed":          {t.Context(), closed, net.ErrClosed},
	} {
		own, conn := net.Pipe()
		if err := test.queue.Add(test.ctx, conn); !errors.Is(err, test.want) {
			t.Errorf("%s: Add returns %v, want %v", name, err, test.want)
		}
		if _, err := own.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("%s: the connection is open: %v", name, err)
		}
	}
	if _, err := closed.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the closed queue accepts: %v", err)
	}
}
