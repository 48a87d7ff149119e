package process

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// attributes returns the attributes of a child that leads a process group and that the kernel kills when the thread
// that started it ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// request asks the spawner to start a command. The spawner sends the result to done.
type request struct {
	cmd  *exec.Cmd
	done chan error
}

// spawner starts processes on one thread that lives as long as this process. PR_SET_PDEATHSIG reacts to the end of the
// parent thread, not of the parent process, and Go may end idle threads at any time.
var spawner = sync.OnceValue(func() chan<- request {
	requests := make(chan request)
	go func() {
		runtime.LockOSThread()
		for r := range requests {
			r.done <- r.cmd.Start()
		}
	}()
	return requests
})

// spawn starts a command on the spawner's thread.
func spawn(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	spawner() <- request{cmd, done}
	return <-done
}
