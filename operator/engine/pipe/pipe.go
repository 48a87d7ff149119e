// Package pipe reads what a command of a run writes to a file.
package pipe

import (
	"context"
	"io"

	"github.com/strata-platform/strata/operator/engine/bounds"
	"github.com/strata-platform/strata/operator/untrusted"
)

// Receive makes a pipe in the folder dir of a run, passes its path to call, and has take read what the command writes to it. If take
// fails with an [*bounds.Error], Receive ends the context of call with that cause. After take returns, Receive discards further data,
// so that the command can stop gracefully.
func Receive(ctx context.Context, dir string, take func(io.Reader) error, call func(ctx context.Context, path string) error) (takeErr, callErr error) {
	pipe, err := untrusted.NewPipe(dir)
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
