//go:build !unix

package untrusted

import (
	"errors"
	"fmt"
)

// Pipe is a named pipe. This system has no named pipes.
type Pipe struct{}

// NewPipe returns [errors.ErrUnsupported].
func NewPipe(string) (*Pipe, error) {
	return nil, fmt.Errorf("make a pipe: %w", errors.ErrUnsupported)
}

// Path returns an empty string.
func (*Pipe) Path() string { return "" }

// Read returns [errors.ErrUnsupported].
func (*Pipe) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// Finish does nothing.
func (*Pipe) Finish() {}

// Close does nothing.
func (*Pipe) Close() {}
