package toolchain

import "syscall"

// attributes make a program the leader of a group, which the kernel kills when the thread that started it ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
