package streams

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// executor runs one call of exec or attach. It implements remotecommand.Executor and remotecommand.Attacher.
type executor struct {
	run     runtime.Interactive
	session *session
	options *remotecommand.Options
}

// ExecInContainer implements remotecommand.Executor. The exit code of the command becomes that of kubectl.
func (e executor) ExecInContainer(ctx context.Context, _, _, _ string, args []string, in io.Reader, out, err io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	defer e.session.finish()
	command := runtime.Command{Args: args, Terminal: tty, Streams: e.streams(ctx, in, out, err, resize)}
	exit, failure := e.run.Execute(ctx, command)
	if failure != nil {
		return failure
	}
	if exit.Code != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("exit code %d", exit.Code), Code: exit.Code}
	}
	return nil
}

// AttachContainer implements remotecommand.Attacher.
func (e executor) AttachContainer(ctx context.Context, _, _, _ string, in io.Reader, out, err io.WriteCloser, _ bool, resize <-chan remotecommand.TerminalSize) error {
	defer e.session.finish()
	return e.run.Attach(ctx, e.streams(ctx, in, out, err, resize))
}

// streams converts the streams of a session. Over WebSocket, the library also gives streams that the client has not asked for.
func (e executor) streams(ctx context.Context, in io.Reader, out, err io.WriteCloser, resize <-chan remotecommand.TerminalSize) runtime.Streams {
	var s runtime.Streams
	if e.options.Stdin {
		s.Stdin = in
	}
	if e.options.Stdout {
		s.Stdout = out
	}
	if e.options.Stderr {
		s.Stderr = err
	}
	if resize != nil {
		s.Sizes = sizes(ctx, resize)
	}
	return s
}

// sizes converts the sizes of a client's terminal until they or ctx end.
func sizes(ctx context.Context, from <-chan remotecommand.TerminalSize) <-chan runtime.Size {
	to := make(chan runtime.Size)
	go func() {
		defer close(to)
		for size := range from {
			select {
			case to <- runtime.Size{Columns: size.Width, Rows: size.Height}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return to
}

// forwarder forwards the ports of one call. It implements portforward.PortForwarder.
type forwarder struct {
	dial    func(ctx context.Context, port int32) (net.Conn, error)
	session *session
}

// PortForward connects a stream to a port of the pod until the server in the pod or the session ends.
func (f forwarder) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	ctx := f.session.request.Context()
	conn, err := f.dial(ctx, port)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	go func() {
		_, _ = io.Copy(conn, stream)
		// The server may still answer after the end of the client's data.
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	if _, err = io.Copy(stream, conn); ctx.Err() != nil {
		return nil // The client has gone.
	}
	return err
}
