//go:build !linux

package engine

import (
	"os"
	"os/exec"
	"syscall"
)

// dieWithParent does nothing where a process cannot be bound to its parent.
func dieWithParent(*exec.Cmd) {}

// runningPulumi tells whether pid is a process.
func runningPulumi(pid int) bool {
	process, err := os.FindProcess(pid)
	return err == nil && process.Signal(syscall.Signal(0)) == nil
}
