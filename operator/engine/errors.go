package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/strata-platform/strata/operator/engine/bounds"
	"github.com/strata-platform/strata/operator/engine/message"
	"github.com/strata-platform/strata/operator/engine/printed"
)

// Reason classifies an [Error], for callers that act on it.
type Reason string

const (
	// Failed means any failure without a more specific Reason.
	Failed Reason = "Failed"

	// Locked means that another update holds the stack's lock.
	Locked Reason = "Locked"

	// StackMissing means that the backend has no such stack.
	StackMissing Reason = "StackMissing"

	// SourceUnavailable means that the engine could not fetch the project. A retry may
	// succeed, unless errors.Is finds source.ErrInvalid in the error.
	SourceUnavailable Reason = "SourceUnavailable"

	// ProjectInvalid means that the source holds no usable project: there is no
	// Pulumi.yaml at Path, or it cannot be read or is not valid. Only another revision
	// fixes it.
	ProjectInvalid Reason = "ProjectInvalid"

	// RuntimeMissing means that the language host of the project's language is not
	// installed. Only another revision fixes it.
	RuntimeMissing Reason = "RuntimeMissing"

	// NotAllowed means that the project has a declaration that the request's Allowed does
	// not permit. Only another revision or another Allowed fixes it.
	NotAllowed Reason = "NotAllowed"

	// TooLarge means that the run exceeded a bound: of its events, its outputs, its
	// printed output, its processes, or the stack's state. Only another program or spec
	// fixes it.
	TooLarge Reason = "TooLarge"

	// Interrupted means that the run was stopped or killed before it ended.
	Interrupted Reason = "Interrupted"
)

// Error is a failed run.
type Error struct {
	Reason    Reason
	Operation Operation
	Stack     string

	// Message says in one line what failed, on which resource, and why.
	Message string

	// Log is the end of pulumi's output.
	Log string

	// Began says that pulumi had begun to process the stack's resources, so that it may
	// have created some.
	Began bool

	// Done says that the operation itself succeeded, and that only its result cannot be
	// recorded.
	Done bool

	// Warnings lists the same warnings as [Result].
	Warnings []string

	// raw is Log without the mask. The engine classifies failures by raw, because a secret
	// may be a word in the lines that it looks for, such as the host name in a lock.
	raw string

	// Err is the cause of a failure that pulumi did not report itself. Err is nil for
	// other failures.
	Err error
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Error implements the error interface.
func (e *Error) Error() string {
	return fmt.Sprintf("%s of stack %q: %s", e.Operation, e.Stack, e.Message)
}

// asError returns the first [*Error] in err, or nil.
func asError(err error) *Error {
	var failure *Error
	errors.As(err, &failure)
	return failure
}

// failure returns an error for a failure that the engine itself detects.
func (r *run) failure(reason Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Operation: r.Operation, Stack: r.Stack, Message: message.Shorten(r.mask.Apply(fmt.Sprintf(format, args...)))}
}

func reasonOf(err error) Reason {
	if failure := asError(err); failure != nil {
		return failure.Reason
	}
	return ""
}

// classify sets the reason, and a first message from pulumi's output.
func (e *Error) classify(ctx context.Context, err error) {
	exit := exitError(err)
	e.Reason, e.Message = Failed, printed.LastError(e.Log)
	over := bounds.As(context.Cause(ctx))
	switch {
	case over != nil:
		e.Reason, e.Message = TooLarge, over.Error()
	case ctx.Err() != nil:
		e.Reason, e.Message = Interrupted, "the run was stopped before it ended"
	case exit == nil:
		e.Message = message.OneLine(err.Error())
	case signaled(exit.ProcessState):
		e.Reason, e.Message = Interrupted, fmt.Sprintf("pulumi was killed (%v)", exit)
	case exit.ExitCode() == exitStackMissing:
		e.Reason = StackMissing
	case printed.Locked(e.raw):
		e.Reason = Locked
		e.Message = "another update holds the stack's lock" + printed.Holders(e.Log) + "; wait for that update, or run pulumi cancel if its process is gone"
	}
	if e.Message == "" {
		e.Message = fmt.Sprintf("pulumi failed (%v) and printed no error", err)
	}
}

func signaled(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

// staleLocks reports whether every lock in the output of a failed run belongs to a process of this host that no longer runs.
func staleLocks(failed error) bool { return printed.StaleLocks(asError(failed).raw, pulumiName) }

// stateError returns the failure of an operation that cannot read its stack's state.
func stateError(req Request, err error) error {
	failure := &Error{Reason: Failed, Operation: req.Operation, Stack: req.Stack, Message: "the stack's state cannot be read", Err: err}
	if over := bounds.As(err); over != nil {
		failure.Reason, failure.Message = TooLarge, over.Error()
	} else if errors.Is(err, fs.ErrNotExist) {
		failure.Reason, failure.Message = StackMissing, "the stack does not exist in its backend"
	}
	return failure
}
