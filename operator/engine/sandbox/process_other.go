//go:build !linux

package sandbox

import (
	"os"
	"os/exec"
	"syscall"
)

// dieWithParent does nothing where a process cannot be bound to its parent.
func dieWithParent(*exec.Cmd) {}

// Running tells whether pid is a process, whatever its command name.
func Running(pid int, _ string) bool {
	process, err := os.FindProcess(pid)
	return err == nil && process.Signal(syscall.Signal(0)) == nil
}

// Kill finds nothing to kill where processes do not show their environment.
func Kill(string) error { return nil }

func heeds(int, syscall.Signal) bool { return true }

// mark does nothing where nothing is looked for by its mark.
func mark() error { return nil }

func begin(cmd *exec.Cmd) error { return cmd.Start() }

func finish(cmd *exec.Cmd) error { return cmd.Wait() }

// killOrphans finds nothing to kill where orphans are not adopted.
func killOrphans() error { return nil }
