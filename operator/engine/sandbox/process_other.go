//go:build !linux

package sandbox

import (
	"os"
	"os/exec"
	"syscall"
)

// dieWithParent does nothing, because only Linux binds a process to its parent.
func dieWithParent(*exec.Cmd) {}

// Running reports whether pid is a process. Running ignores the command name.
func Running(pid int, _ string) bool {
	process, err := os.FindProcess(pid)
	return err == nil && process.Signal(syscall.Signal(0)) == nil
}

// Kill does nothing, because only Linux shows the environment of a process.
func Kill(string) error { return nil }

func heeds(int, syscall.Signal) bool { return true }

// mark does nothing, because nothing looks for the mark.
func mark() error { return nil }

func begin(cmd *exec.Cmd) error { return cmd.Start() }

func finish(cmd *exec.Cmd) error { return cmd.Wait() }

// killOrphans does nothing, because only Linux lets this process adopt orphans.
func killOrphans() error { return nil }
