//go:build !unix

package untrusted

import (
	"errors"
	"fmt"
)

// Pipe is a named pipe. This system has none.
type Pipe struct{}

// NewPipe fails on this system.
func NewPipe(string) (*Pipe, error) {
	return nil, fmt.Errorf("make a pipe: %w", errors.ErrUnsupported)
}

// Path is empty.
func (*Pipe) Path() string { return "" }

// Read fails.
func (*Pipe) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// Finish does nothing.
func (*Pipe) Finish() {}

// Close does nothing.
func (*Pipe) Close() {}
