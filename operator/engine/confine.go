package engine

import "github.com/strata-platform/strata/operator/engine/sandbox"

// CanConfine tells what keeps this system from giving runs namespaces of their own; nil
// means that nothing does. Otherwise Landlock alone holds a run's files, where the kernel
// has it.
func CanConfine() error { return sandbox.Check() }
