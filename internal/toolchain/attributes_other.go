//go:build !linux

package toolchain

import "syscall"

// attributes make a program the leader of a group.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
