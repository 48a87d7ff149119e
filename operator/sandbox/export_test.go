package sandbox

import (
	"errors"
	"testing"
)

// WithoutNamespaces makes the test run as on a system without namespaces. The test must
// not be parallel.
func WithoutNamespaces(t testing.TB) {
	before := check
	check = func() error { return errors.New("switched off by the test") }
	t.Cleanup(func() { check = before })
}
