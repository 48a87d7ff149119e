package engine

import "github.com/strata-platform/strata/operator/sandbox"

// CanConfine returns an error that says why this system cannot give runs namespaces of
// their own, or nil if it can. With an error, only Landlock confines a run to its
// files, and only if the kernel supports Landlock.
func CanConfine() error { return sandbox.Check() }
