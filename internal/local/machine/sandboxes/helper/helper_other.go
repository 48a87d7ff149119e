//go:build !linux

// Package helper is the process that runs the sandboxes. It exists on Linux only.
package helper
