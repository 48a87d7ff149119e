// Package sentry calls the control server of a running gVisor sandbox.
package sentry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"
)

// maxAnswer bounds an answer of a sandbox in bytes. A sandbox is not trusted.
const maxAnswer = 1 << 20

// Sandbox is the control server of a sandbox. Each call uses a connection of its own, so calls run side by side.
type Sandbox struct {
	// Socket is the path of the control server's socket.
	Socket string
}

// ErrGone means that the sandbox, the container or the process does not exist any more.
var ErrGone = errors.New("the sandbox has ended")

// RemoteError is an error of the control server.
type RemoteError struct{ Text string }

// Error returns the text.
func (e *RemoteError) Error() string { return e.Text }

// call is a call of gVisor's urpc: one JSON value each way; descriptors travel with the first byte.
type call struct {
	Method string `json:"method"`
	Arg    any    `json:"arg"`
}

type answer struct {
	Success bool            `json:"success"`
	Err     string          `json:"err"`
	Result  json.RawMessage `json:"result"`
}

// call calls a method. It returns [ErrGone] if the connection cannot be made or breaks, and the context's error when the context
// ends first.
func (s Sandbox) call(ctx context.Context, method string, arg, result any, files ...*os.File) error {
	conn, err := s.dial(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("call %s: %w: %w", method, ErrGone, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	var a answer
	err = send(conn.(*net.UnixConn), call{method, arg}, files)
	if err == nil {
		err = json.NewDecoder(io.LimitReader(conn, maxAnswer)).Decode(&a)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("call %s: %w: %w", method, ErrGone, err)
	case !a.Success:
		return fmt.Errorf("call %s: %w", method, &RemoteError{a.Err})
	case result == nil:
		return nil
	}
	if err := json.Unmarshal(a.Result, result); err != nil {
		return fmt.Errorf("call %s: decode the answer: %w", method, err)
	}
	return nil
}

// maxPause is the longest time between two attempts to connect.
const maxPause = 50 * time.Millisecond

// dial connects to the control server. While more calls arrive than it accepts, its queue is full, and connect(2) fails with EAGAIN
// instead of waiting.
func (s Sandbox) dial(ctx context.Context) (net.Conn, error) {
	for pause := time.Millisecond; ; pause = min(2*pause, maxPause) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", s.Socket)
		if !errors.Is(err, syscall.EAGAIN) {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func send(conn *net.UnixConn, c call, files []*os.File) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	var oob []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, file := range files {
			fds[i] = int(file.Fd())
		}
		oob = syscall.UnixRights(fds...)
	}
	n, _, err := conn.WriteMsgUnix(data, oob, nil)
	runtime.KeepAlive(files)
	if err == nil && n < len(data) {
		_, err = conn.Write(data[n:])
	}
	return err
}
