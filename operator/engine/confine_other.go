//go:build !linux

package engine

import "errors"

// CanConfine tells why this system cannot confine runs; nil means that it does.
func CanConfine() error { return errors.New("only Linux confines runs") }

// confine is not called where it cannot be done.
func confine([]grant) error { return CanConfine() }
