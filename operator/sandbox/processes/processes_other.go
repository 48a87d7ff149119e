//go:build !linux

package processes

import (
	"os"
	"os/exec"
	"syscall"
)

// DieWithParent does nothing, because only Linux binds a process to its parent.
func DieWithParent(*exec.Cmd) {}

// Running reports whether pid is a process. Running ignores the command name.
func Running(pid int, _ string) bool {
	process, err := os.FindProcess(pid)
	return err == nil && process.Signal(syscall.Signal(0)) == nil
}

// Kill does nothing, because only Linux shows the environment of a process.
func Kill(string) error { return nil }

// Heeds returns true, because only Linux shows the signals that a process handles.
func Heeds(int, syscall.Signal) bool { return true }

// Mark does nothing, because nothing looks for the mark.
func Mark() error { return nil }

// Start starts a command.
func Start(cmd *exec.Cmd, _ string) error { return cmd.Start() }

// Wait waits for a command.
func Wait(cmd *exec.Cmd) error { return cmd.Wait() }

// KillOrphans does nothing, because only Linux lets this process adopt orphans.
func KillOrphans() error { return nil }
