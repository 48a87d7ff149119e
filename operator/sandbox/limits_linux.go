package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// apply limits a process that has just been started, and the processes that it starts.
func (l Limits) apply(pid int) error {
	for _, limit := range []struct {
		resource int
		value    uint64
	}{
		{unix.RLIMIT_FSIZE, l.FileSize}, {unix.RLIMIT_DATA, l.Memory}, {unix.RLIMIT_NPROC, l.UserProcesses},
	} {
		if limit.value == 0 {
			continue
		}
		bound := &unix.Rlimit{Cur: limit.value, Max: limit.value}
		if err := unix.Prlimit(pid, limit.resource, bound, nil); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("limit %d to %d: %w", limit.resource, limit.value, err)
		}
	}
	if l.First {
		return endFirst(pid)
	}
	return nil
}

// A process's oom_score_adj is not writable during execve, and while the kernel tears the process down.
const (
	busyFor   = time.Second
	busyRetry = time.Millisecond
)

// endFirst makes the kernel kill a process before others when memory runs out.
func endFirst(pid int) error {
	retry := time.NewTicker(busyRetry)
	defer retry.Stop()
	for deadline := time.Now().Add(busyFor); ; <-retry.C {
		// 1000 is the maximum (proc_pid_oom_score_adj(5)).
		err := os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("1000"), 0)
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ESRCH):
			return nil
		case !errors.Is(err, fs.ErrPermission), time.Now().After(deadline):
			return err
		}
	}
}
