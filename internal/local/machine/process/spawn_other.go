//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// attributes returns the attributes of a child that leads a process group. Only Linux can tie the child's life to the
// parent's.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func spawn(cmd *exec.Cmd) error { return cmd.Start() }
