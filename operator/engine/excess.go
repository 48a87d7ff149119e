package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/strata-platform/strata/operator/untrusted"
)

// Bounds of a run. This process works for all teams, and holds and reads what a run
// produces.
const (
	// maxEvent bounds the size of an event, and maxEvents that of all events of an
	// operation, in bytes. An event holds up to four copies of a resource. A resource that
	// Kubernetes stores has at most 1.5 MB.
	maxEvent  = 16 << 20
	maxEvents = 256 << 20

	// maxOutput bounds what one command of an operation prints, in bytes.
	maxOutput = 64 << 20

	// maxState bounds the size of a stack's state, in bytes.
	maxState = 64 << 20

	// maxPending bounds the pending operations of an interrupted run. Pulumi processes at
	// most as many resources concurrently as spec.parallel or the number of the machine's
	// processors allows.
	maxPending = 1000

	// maxWarnings bounds the warnings of a run.
	maxWarnings = 20
)

// excess is the error of a run that exceeds a bound. An excess ends the run, and a
// retry does not help.
type excess struct{ message string }

func (e *excess) Error() string { return e.message }

func exceeds(format string, args ...any) error { return &excess{fmt.Sprintf(format, args...)} }

// asExcess returns the first [*excess] in err, or nil.
func asExcess(err error) *excess {
	var over *excess
	errors.As(err, &over)
	return over
}

// receive passes the path of a pipe to call, and has take read what the command writes
// to that pipe. If take fails with an [*excess], receive ends the context of call with
// that cause. After take returns, receive discards further data, so that the command
// can stop in good order.
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
		_, _ = io.Copy(io.Discard, pipe) // It ends when the pipe does; an error changes nothing.
		taken <- err
	}()
	callErr = call(ctx, pipe.Path())
	pipe.Finish()
	return <-taken, callErr
}
