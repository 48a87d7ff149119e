//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// attributes make the child a group leader. Only Linux can tie its life to the parent's; elsewhere the supervisor
// finds what an earlier one left behind by the home's path in its arguments.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func spawn(cmd *exec.Cmd) error { return cmd.Start() }
