package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/strata-platform/strata/operator/untrusted"
)

// The bounds of a run. What a run hands over is held and looked at by this process,
// which works for all teams.
const (
	// maxEvent and maxEvents bound an event and all events of an operation, in bytes.
	// An event holds up to four copies of a resource; a resource that Kubernetes
	// stores has at most 1.5 MB.
	maxEvent  = 16 << 20
	maxEvents = 256 << 20

	// maxOutput bounds what the commands of an operation print, in bytes.
	maxOutput = 64 << 20

	// maxState bounds the state of a stack, in bytes.
	maxState = 64 << 20

	// maxPending bounds the operations that an interrupted run has left. Pulumi works
	// at no more resources at once than spec.parallel or the machine's processors ask.
	maxPending = 1000

	// maxWarnings bounds the warnings of a run.
	maxWarnings = 20
)

// excess is the error of a run that exceeds one of the bounds. It ends the run, and
// no retry mends it.
type excess struct{ message string }

func (e *excess) Error() string { return e.message }

func exceeds(format string, args ...any) error { return &excess{fmt.Sprintf(format, args...)} }

// asExcess returns the [*excess] in err, if there is one.
func asExcess(err error) *excess {
	var over *excess
	errors.As(err, &over)
	return over
}

// receive calls a command with the name of a pipe, and has take read what the command
// writes to it. When take fails with an [*excess], the context of call ends with that
// cause. What comes after take has returned is thrown away, so that the command can
// stop in good order.
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
		if over := asExcess(err); over != nil {
			cancel(over)
		}
		_, _ = io.Copy(io.Discard, pipe) // It ends with the pipe, in whatever way.
		taken <- err
	}()
	callErr = call(ctx, pipe.Path())
	pipe.Finish()
	return <-taken, callErr
}
