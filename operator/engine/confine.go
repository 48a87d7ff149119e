package engine

import "github.com/strata-platform/strata/operator/engine/sandbox"

// CanConfine tells why this system cannot confine runs; nil means that it does.
func CanConfine() error { return sandbox.CanConfine() }
