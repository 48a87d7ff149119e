package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/strata-platform/strata/operator/engine/sandbox"
)

// Reason says which kind of failure an [Error] is, for callers that act on it.
type Reason string

const (
	// Failed is any failure that has no reason of its own.
	Failed Reason = "Failed"

	// Locked means that another update holds the stack's lock.
	Locked Reason = "Locked"

	// StackMissing means that the backend has no such stack.
	StackMissing Reason = "StackMissing"

	// SourceUnavailable means that the project could not be fetched. A retry may
	// mend it, but for errors in which errors.Is finds source.ErrInvalid.
	SourceUnavailable Reason = "SourceUnavailable"

	// ProjectInvalid means that what was fetched is no project: it has no Pulumi.yaml
	// at Path, or one that cannot be read. Only another revision mends it.
	ProjectInvalid Reason = "ProjectInvalid"

	// RuntimeMissing means that the project's language is not installed here. Only
	// another revision mends it.
	RuntimeMissing Reason = "RuntimeMissing"

	// NotAllowed means that the project declares what the request's Allowed does not have.
	// Only another revision mends it, or whoever says what is allowed.
	NotAllowed Reason = "NotAllowed"

	// TooLarge means that the run exceeded a bound: its events, its outputs, what it
	// printed, or the stack's state. Only another program or spec mends it.
	TooLarge Reason = "TooLarge"

	// Interrupted means that the run was stopped or killed before it ended.
	Interrupted Reason = "Interrupted"
)

// Error is a failed run.
type Error struct {
	Reason    Reason
	Operation Operation
	Stack     string

	// Message says in one line what failed, on which resource and why.
	Message string

	// Log is the end of what pulumi printed.
	Log string

	// Began says that pulumi had begun to look at the stack's resources, so that
	// some may have been made.
	Began bool

	// Done says that the operation itself succeeded, and only its result cannot be
	// recorded.
	Done bool

	// Warnings are those of [Result].
	Warnings []string

	// raw is Log with the secrets in it: one may be a word by which the failure is
	// told, such as the host in a lock.
	raw string

	// Err is the cause where there is one besides pulumi's own failure.
	Err error
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s of stack %q: %s", e.Operation, e.Stack, e.Message)
}

// asError returns the [*Error] in err, if there is one.
func asError(err error) *Error {
	var failure *Error
	errors.As(err, &failure)
	return failure
}

// failure makes an error of the run that pulumi has no part in.
func (r *run) failure(reason Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Operation: r.Operation, Stack: r.Stack, Message: shorten(r.mask.apply(fmt.Sprintf(format, args...)))}
}

func reasonOf(err error) Reason {
	if failure := asError(err); failure != nil {
		return failure.Reason
	}
	return ""
}

// classify fills in the reason and, from pulumi's output, a first message.
func (e *Error) classify(ctx context.Context, err error) {
	exit := exitError(err)
	e.Reason, e.Message = Failed, lastErrorLine(e.Log)
	over := asExcess(context.Cause(ctx))
	switch {
	case over != nil:
		e.Reason, e.Message = TooLarge, over.message
	case ctx.Err() != nil:
		e.Reason, e.Message = Interrupted, "the run was stopped before it ended"
	case exit == nil:
		e.Message = oneLine(err.Error())
	case signaled(exit.ProcessState):
		e.Reason, e.Message = Interrupted, fmt.Sprintf("pulumi was killed (%v)", exit)
	case exit.ExitCode() == exitStackMissing:
		e.Reason = StackMissing
	case strings.Contains(e.raw, "the stack is currently locked by"), strings.Contains(e.raw, "Another update is currently in progress"):
		e.Reason = Locked
		e.Message = "another update holds the stack's lock" + e.holders() + "; wait for it, or run pulumi cancel if it is gone"
	}
	if e.Message == "" {
		e.Message = fmt.Sprintf("pulumi failed (%v) without saying why", err)
	}
}

func signaled(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

// lock matches a line about a lock in pulumi's message: its user, host and pid.
var lock = regexp.MustCompile(`created by (.*)@(\S+) \(pid (\d+)\) at (\S+)`)

func (e *Error) holders() string {
	var holders []string
	for _, match := range lock.FindAllStringSubmatch(e.Log, -1) {
		holders = append(holders, fmt.Sprintf("%s@%s, process %s since %s", match[1], match[2], match[3], match[4]))
	}
	if holders == nil {
		return ""
	}
	return " (" + strings.Join(holders, "; ") + ")"
}

// staleLocks tells whether every lock was left by a process of this host that is
// no more.
func staleLocks(failed error) bool {
	host, err := os.Hostname()
	matches := lock.FindAllStringSubmatch(asError(failed).raw, -1)
	if err != nil || len(matches) == 0 {
		return false
	}
	for _, match := range matches {
		pid, err := strconv.Atoi(match[3])
		if err != nil || match[2] != host || sandbox.Running(pid, pulumiName) {
			return false
		}
	}
	return true
}
