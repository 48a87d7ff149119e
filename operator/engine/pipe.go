package engine

import (
	"context"
	"io"

	"github.com/strata-platform/strata/operator/engine/bounds"
	"github.com/strata-platform/strata/operator/untrusted"
)

// receive passes the path of a pipe to call, and has take read what the command writes
// to that pipe. If take fails with an [*bounds.Error], receive ends the context of call with
// that cause. After take returns, receive discards further data, so that the command
// can stop gracefully.
func (r *run) receive(ctx context.Context, take func(io.Reader) error, call func(ctx context.Context, path string) error) (takeErr, callErr error) {
	pipe, err := untrusted.NewPipe(r.dir)
	if err != nil {
		return nil, err
	}
	defer pipe.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	taken := make(chan error, 1)
	go func() {
		err := take(pipe)
		if over := bounds.As(err); over != nil {
			cancel(over)
		}
		_, _ = io.Copy(io.Discard, pipe) // It ends when the pipe does; an error changes nothing.
		taken <- err
	}()
	callErr = call(ctx, pipe.Path())
	pipe.Finish()
	return <-taken, callErr
}
