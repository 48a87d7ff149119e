//go:build !linux

package sandboxes

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

var errNotLinux = &UnsupportedError{Reason: NotLinux, Err: errors.New("it has no namespaces, which only Linux has")}

// Main returns, because there is no helper process.
func Main() {}

// Probe returns an [UnsupportedError].
func Probe(context.Context) error { return errNotLinux }

// Start returns an [UnsupportedError].
func Start(context.Context, Options) (*Host, error) { return nil, errNotLinux }

// Host does not exist on this system.
type Host struct{}

// Platform returns an empty string.
func (h *Host) Platform() string { return "" }

// Done returns nil.
func (h *Host) Done() <-chan struct{} { return nil }

// Err returns an [UnsupportedError].
func (h *Host) Err() error { return errNotLinux }

// Close does nothing.
func (h *Host) Close() error { return nil }

// CreatePod returns an [UnsupportedError].
func (h *Host) CreatePod(context.Context, spec.Pod) (*Pod, *os.File, error) {
	return nil, nil, errNotLinux
}

// Pod does not exist on this system.
type Pod struct{}

// Done returns nil.
func (p *Pod) Done() <-chan struct{} { return nil }

// Start returns an [UnsupportedError].
func (p *Pod) Start(context.Context, spec.Container, Streams) (*Process, error) {
	return nil, errNotLinux
}

// Exec returns an [UnsupportedError].
func (p *Pod) Exec(context.Context, string, spec.Process, Streams) (*Process, error) {
	return nil, errNotLinux
}

// RemoveContainer returns an [UnsupportedError].
func (p *Pod) RemoveContainer(context.Context, string) error { return errNotLinux }

// Stats returns an [UnsupportedError].
func (p *Pod) Stats(context.Context) (spec.Stats, error) { return spec.Stats{}, errNotLinux }

// Remove does nothing.
func (p *Pod) Remove(context.Context) error { return nil }

// Process does not exist on this system.
type Process struct{}

// Done returns nil.
func (p *Process) Done() <-chan struct{} { return nil }

// Wait returns an [UnsupportedError].
func (p *Process) Wait(context.Context) (spec.Exit, error) { return spec.Exit{}, errNotLinux }

// Signal returns an [UnsupportedError].
func (p *Process) Signal(context.Context, syscall.Signal) error { return errNotLinux }

// Kill returns an [UnsupportedError].
func (p *Process) Kill(context.Context) error { return errNotLinux }

// Resize returns an [UnsupportedError].
func (p *Process) Resize(context.Context, uint16, uint16) error { return errNotLinux }
