// Package fault contains the errors of images: each one has a kind, which says whether a retry can help.
package fault

import (
	"errors"
	"fmt"
)

// Kind classifies an error. Callers choose the reason on the pod by it.
type Kind string

// The kinds of errors.
const (
	// InvalidName: the reference is not the name of an image. A retry does not help.
	InvalidName Kind = "InvalidName"
	// NotFound: the registry or the store does not have the image. A retry helps after somebody pushes it.
	NotFound Kind = "NotFound"
	// Denied: the registry wants other credentials. A retry helps after they change.
	Denied Kind = "Denied"
	// Platform: the image has no variant for this machine. A retry does not help.
	Platform Kind = "Platform"
	// Unavailable: the registry does not answer, or fails for now. A retry helps.
	Unavailable Kind = "Unavailable"
	// Corrupt: the content differs from its digest, size or format. A retry helps only if the registry is repaired.
	Corrupt Kind = "Corrupt"
	// TooLarge: the image exceeds a limit of this machine. A retry does not help.
	TooLarge Kind = "TooLarge"
	// NoSpace: the disk is full, or too full for the image. A retry helps after files are deleted.
	NoSpace Kind = "NoSpace"
	// NoUser: the image does not contain the user or group. A retry does not help.
	NoUser Kind = "NoUser"
)

// Error is an error about one image. Its text is one line and contains no credentials.
type Error struct {
	// Kind is the class of the error, never empty.
	Kind Kind
	// Object names the image, layer or entry that failed, such as "image docker.io/library/web:1".
	Object string
	// Why says what is wrong with the object.
	Why string
	// Next says what to do. If it is empty, the text ends after Why or Cause.
	Next string
	// Want and Have are platforms, such as "linux/amd64". Only errors of kind Platform have them.
	Want string
	Have []string
	// Cause is the underlying error, or nil. The text contains it.
	Cause error
}

// Error returns the text: object, reason, cause, and what to do.
func (e *Error) Error() string {
	text := e.Object + ": " + e.Why
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	if e.Next != "" {
		text += "; " + e.Next
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// New returns an error without a cause. The arguments fill the format of Why, as in fmt.Sprintf.
func New(kind Kind, object, format string, arguments ...any) *Error {
	return &Error{Kind: kind, Object: object, Why: fmt.Sprintf(format, arguments...)}
}

// Of returns the kind of err, or an empty kind if no error in its tree has one.
func Of(err error) Kind {
	if found, ok := errors.AsType[*Error](err); ok {
		return found.Kind
	}
	return ""
}
