package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strata-platform/strata/operator/sandbox/processes"
)

// countEvery is the interval between two counts of a command's processes. Tests change it.
var countEvery = 250 * time.Millisecond

// hold kills the command when it has more processes and threads than limit. hold counts the processes itself, because a
// program that the kernel refuses another process may try again forever.
func (c *Cell) hold(limit uint64) {
	if limit == 0 || !c.isolated {
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
		if tasks(c.cmd.Process.Pid, limit) > limit {
			// The kernel kills all processes of a PID namespace with the first one. A command that has ended by itself keeps its
			// result.
			if c.cmd.Process.Kill() == nil {
				c.multiplied = true
			}
		}
	}
}

// tasks counts the threads of a process and of its descendants. tasks stops when the count exceeds limit. A process that
// has ended counts until its parent has waited for it.
func tasks(pid int, limit uint64) (count uint64) {
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	count = uint64(len(threads))
	for _, thread := range threads {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread.Name()))
		for child := range strings.FieldsSeq(string(children)) {
			if count > limit {
				return count
			}
			if id, err := strconv.Atoi(child); err == nil {
				count += tasks(id, limit-min(count, limit))
			}
		}
	}
	return count
}

// minPIDMax is the least value that the kernel accepts in pid_max, rounded up (proc_sys_kernel(5)).
const minPIDMax = 512

// boundProcesses makes the kernel refuse the command a process or thread beyond a bound, which is a quarter above limit, so
// that [Cell.hold] still sees a command that exceeds limit. boundProcesses does nothing if limit is zero, if the command is
// not in a PID namespace of its own, and on kernels that have one pid_max for the whole machine. Call boundProcesses once: it
// closes the descriptor of the command.
func (c *Cell) boundProcesses(limit uint64) error {
	if c.pidfd >= 0 {
		defer unix.Close(c.pidfd)
	}
	if limit == 0 || !c.isolated || !pidMaxPerNamespace() {
		return nil
	}
	bound := max(limit+limit/4, minPIDMax)
	// The setting belongs to the PID namespace of the process that opens the file.
	write := exec.Command("/bin/sh", "-c", `echo "$1" >/proc/sys/kernel/pid_max`, "sh", strconv.FormatUint(bound, 10))
	write.Env = []string{}
	var printed strings.Builder
	write.Stderr = &printed
	result := make(chan error, 1)
	onThread(func() {
		// Only the children of the thread enter the namespace (setns(2)).
		err := unix.Setns(c.pidfd, unix.CLONE_NEWPID)
		if err == nil {
			err = write.Run()
		}
		result <- err
	})
	err := <-result
	if err == nil {
		return nil
	}
	// The kernel refuses entry to the namespace of a command that has ended, and kills the processes in it.
	killed := write.ProcessState != nil && !write.ProcessState.Exited()
	if killed || errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOMEM) {
		select {
		case <-c.ended:
			return nil
		case <-time.After(processes.KillTimeout):
		}
	}
	return fmt.Errorf("limit its processes to %d: %w: %s", bound, err, strings.TrimSpace(printed.String()))
}

// pidMaxPerNamespace reports whether each PID namespace has its own pid_max, as it does since Linux 6.14. On an older
// kernel, writing the setting would change it for the whole machine.
var pidMaxPerNamespace = sync.OnceValue(func() bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	var major, minor int
	_, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return err == nil && (major > 6 || major == 6 && minor >= 14)
})
