package sandbox

import (
	"testing"
	"time"
)

// PIDMaxPerNamespace reports whether each PID namespace has its own pid_max.
func PIDMaxPerNamespace() bool { return pidMaxPerNamespace() }

// WithoutCounts stops the counts of processes. The test must not be parallel.
func WithoutCounts(t testing.TB) {
	before := countEvery
	countEvery = time.Hour
	t.Cleanup(func() { countEvery = before })
}
