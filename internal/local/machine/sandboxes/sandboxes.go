// Package sandboxes runs pods in gVisor, for an ordinary user and without Docker. One helper process in namespaces of its own
// runs all pods of a host, and nothing of them outlives it.
package sandboxes

import (
	"io"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/protocol"
)

// Options configures a host.
type Options struct {
	// Runsc is the path of gVisor's runsc.
	Runsc string

	// Log gets what the helper process prints, which is nothing unless it fails. Nil discards it.
	Log io.Writer
}

// Streams are the standard streams of a process. Each may be nil. Output that a writer does not take makes the process wait as
// soon as the pipe between them is full (64 KiB), so a process that prints without end costs no memory. A writer that fails loses
// the output; the process goes on.
type Streams struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer // not used with a terminal, which writes to Stdout
}

// ErrGone means that a host, a pod, a container or a process has ended or was removed.
var ErrGone = protocol.ErrGone

// Reason says why a system cannot run sandboxes.
type Reason string

const (
	// NotLinux means that the system has no namespaces.
	NotLinux Reason = "NotLinux"
	// UserNamespacesDisabled means that a sysctl forbids user namespaces, or their number is exhausted.
	UserNamespacesDisabled Reason = "UserNamespacesDisabled"
	// AppArmorRestricted means that AppArmor takes away the capabilities in user namespaces, as in Ubuntu 24.04.
	AppArmorRestricted Reason = "AppArmorRestricted"
	// Forbidden means that another mechanism forbids a needed operation, for example the seccomp filter of a container.
	Forbidden Reason = "Forbidden"
)

// UnsupportedError says why this system cannot run sandboxes, and what to do.
type UnsupportedError struct {
	Reason Reason

	// Fix tells the administrator what to change. Empty means that there is no known way.
	Fix string

	// Err is the error of the failed operation.
	Err error
}

// Error returns one line with the cause and the fix.
func (e *UnsupportedError) Error() string {
	text := "this system cannot run sandboxes: " + e.Err.Error()
	if e.Fix != "" {
		text += ": " + e.Fix
	}
	return text
}

// Unwrap returns the error of the failed operation.
func (e *UnsupportedError) Unwrap() error { return e.Err }
