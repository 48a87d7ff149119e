package helper

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// reaper starts the children of this process and waits for all of them. This process is the first one of its PID namespace, so
// every orphan becomes its child, and os/exec, which waits for its own children only, would leave zombies.
type reaper struct {
	mu sync.Mutex

	// ended maps the process ID of a running child to the channels that get its status.
	ended map[int][]chan syscall.WaitStatus
}

func newReaper() *reaper {
	r := &reaper{ended: map[int][]chan syscall.WaitStatus{}}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD)
	go func() {
		for range signals {
			r.reap()
		}
	}()
	return r
}

func (r *reaper) reap() {
	// The lock keeps a child that start has started, and not yet listed, from being lost.
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		for _, done := range r.ended[pid] {
			done <- status
		}
		delete(r.ended, pid)
	}
}

// start starts a program. The channel gets its status.
func (r *reaper) start(path string, args []string, files []*os.File) (int, <-chan syscall.WaitStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	process, err := os.StartProcess(path, args, &os.ProcAttr{Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Files: files})
	if err != nil {
		return 0, nil, err
	}
	pid := process.Pid
	_ = process.Release()
	return pid, r.list(pid), nil
}

// watch returns a channel that gets the status of an orphan. It gets a zero status at once if the process does not exist.
func (r *reaper) watch(pid int) <-chan syscall.WaitStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	if syscall.Kill(pid, 0) != nil {
		done := make(chan syscall.WaitStatus, 1)
		done <- 0
		return done
	}
	return r.list(pid)
}

func (r *reaper) list(pid int) <-chan syscall.WaitStatus {
	done := make(chan syscall.WaitStatus, 1)
	r.ended[pid] = append(r.ended[pid], done)
	return done
}

// kill kills a listed process. The kernel cannot have reused the process ID of a listed process.
func (r *reaper) kill(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ended[pid]) > 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
