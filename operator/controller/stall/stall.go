// Package stall contains the errors of Stacks that the operator cannot apply until an object changes, and of runs that it prevents.
package stall

import (
	"fmt"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// Error is an error that only a change fixes: a change of the Stack, or of an object whose change wakes the Stack.
type Error struct {
	// Reason is the reason of the Stalled condition, one of the constants v1.Stalled...Reason.
	Reason string

	// Message is the message of the conditions, in one line.
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Invalid returns an [*Error] of a Stack's spec, with the message that [fmt.Sprintf] formats.
func Invalid(format string, args ...any) error {
	return &Error{Reason: v1.StalledSpecInvalidReason, Message: fmt.Sprintf(format, args...)}
}

// Unavailable returns an [*Error] of a source that the operator cannot read, with the message that [fmt.Sprintf] formats.
func Unavailable(format string, args ...any) error {
	return &Error{Reason: v1.StalledSourceUnavailableReason, Message: fmt.Sprintf(format, args...)}
}

// Refusal is an error by which the operator, as opposed to the engine, prevents a run.
type Refusal struct{ Err error }

// Error implements error.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns Err.
func (r *Refusal) Unwrap() error { return r.Err }
