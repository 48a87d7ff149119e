// Package bounds contains the error of a run that exceeds a bound.
package bounds

import (
	"errors"
	"fmt"
)

// Error is the error of a run that exceeds a bound. The error ends the run, and a retry does
// not help.
type Error struct{ message string }

// Error implements the error interface.
func (e *Error) Error() string { return e.message }

// Exceeded returns an [*Error] with the message that [fmt.Sprintf] formats. The message says which bound the run exceeds, and
// what to change.
func Exceeded(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// As returns the first [*Error] in err, or nil.
func As(err error) *Error {
	var over *Error
	errors.As(err, &over)
	return over
}
