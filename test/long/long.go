// Package long marks the tests that take long. Only `go test -run` with a name runs them: `make test` takes minutes without
// them, `make test-long` runs them all, and `make test-drills` runs a few.
package long

import (
	"flag"
	"testing"
)

// Test marks the calling test as long: it skips the test unless the flag -run is set. A long test calls it first.
func Test(t testing.TB) {
	t.Helper()
	if flag.Lookup("test.run").Value.String() == "" {
		t.Skip("a long test: run it with `make test-long`, or by its name with `go test -run`")
	}
}
