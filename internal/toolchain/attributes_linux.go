package toolchain

import "syscall"

// attributes makes a program the leader of a process group. The kernel kills the program when the thread that started it
// ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
