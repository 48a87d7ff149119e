package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
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

// countEvery is the interval between two counts of a command's processes.
const countEvery = 250 * time.Millisecond

// hold kills the command when it has more processes and threads than most. hold counts the processes itself, because the
// kernel limits only the processes of a user.
func (c *Cell) hold(most uint64) {
	if most == 0 || !c.isolated {
		return
	}
	next := time.NewTicker(countEvery)
	defer next.Stop()
	for {
		select {
		case <-c.ended:
			return
		case <-next.C:
		}
		if tasks(c.cmd.Process.Pid, most) > most {
			// The kernel kills all processes of a PID namespace with the first one. A command that has ended by itself keeps its
			// result.
			if c.cmd.Process.Kill() == nil {
				c.multiplied = true
			}
		}
	}
}

// tasks counts the threads of a process and of its descendants. tasks stops when the count exceeds most. A process that
// has ended counts until its parent has waited for it.
func tasks(pid int, most uint64) (count uint64) {
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	count = uint64(len(threads))
	for _, thread := range threads {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread.Name()))
		for child := range strings.FieldsSeq(string(children)) {
			if count > most {
				return count
			}
			if id, err := strconv.Atoi(child); err == nil {
				count += tasks(id, most-min(count, most))
			}
		}
	}
	return count
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
