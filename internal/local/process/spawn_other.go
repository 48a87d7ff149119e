//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// attributes make the child a group leader. Only Linux can tie its life to the parent's.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func spawn(cmd *exec.Cmd) error { return cmd.Start() }
