package process

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// attributes make the child a group leader that the kernel kills when the thread that started it ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

type request struct {
	cmd  *exec.Cmd
	done chan error
}

// spawner runs on one thread for the life of this process: PR_SET_PDEATHSIG counts the death of the parent thread,
// not of the parent process, and Go ends idle threads when it likes.
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

func spawn(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	spawner() <- request{cmd, done}
	return <-done
}
