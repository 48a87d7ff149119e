package processes

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strata-platform/strata/operator/environ"
)

// commands lists the running commands of this process.
var commands = struct {
	// Start locks starting for reading while it starts and lists a command. The search for
	// orphans locks it for writing, because a command that is not yet listed looks like an
	// orphan.
	starting sync.RWMutex

	// homes maps the process IDs of the commands to their variable HOME.
	homes map[int]string
	mu    sync.Mutex
}{homes: map[int]string{}}

// adopt makes this process, instead of process 1, the parent of the orphans that
// commands leave behind.
var adopt = sync.OnceValue(func() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphaned processes: %w", err)
	}
	return nil
})

// Mark sets no_new_privs on the calling thread, for good. The thread and the processes
// that it starts cannot gain privileges, and [KillOrphans] recognises them by that. Mark
// works on kernels without Landlock.
func Mark() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	return nil
}

// Start starts a command and adds it to the list of running commands. The variable HOME of
// the command must be home.
func Start(cmd *exec.Cmd, home string) error {
	if err := adopt(); err != nil {
		return err
	}
	commands.starting.RLock()
	defer commands.starting.RUnlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	commands.mu.Lock()
	defer commands.mu.Unlock()
	commands.homes[cmd.Process.Pid] = home
	return nil
}

// Wait waits for a command that [Start] has started and removes it from the list. The kernel may reuse its
// process ID only after the wait.
func Wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	commands.mu.Lock()
	defer commands.mu.Unlock()
	delete(commands.homes, cmd.Process.Pid)
	return err
}

// KillOrphans kills the processes that ended commands left running, even if they hide,
// and waits until they have ended.
func KillOrphans() error {
	deadline := time.After(KillTimeout)
	for {
		left, err := killOnce()
		if err != nil || len(left) == 0 {
			return err
		}
		select {
		case <-deadline:
			return fmt.Errorf("killed processes %v of ended runs are still running: end them yourself", left)
		case <-time.After(time.Millisecond):
		}
	}
}

// killOnce kills the current orphans and returns their process IDs. The children of the
// killed processes then become orphans.
func killOnce() ([]int, error) {
	commands.starting.Lock()
	defer commands.starting.Unlock()
	left, err := orphans()
	for _, pid := range left {
		// This process is the parent and does not wait for pid in the meantime, so the kernel
		// has not reused pid. A wait for any child would also reap children that other
		// goroutines wait for.
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG|unix.WALL, nil)
	}
	return left, err
}

// orphans returns the children of this process that carry the mark of commands and are
// not in the list. orphans omits those that use the HOME of a listed command, because
// they end with that command.
func orphans() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("look for the processes that a run left behind: %w", err)
	}
	commands.mu.Lock()
	defer commands.mu.Unlock()
	used := map[string]bool{}
	for _, home := range commands.homes {
		used[home] = true
	}
	self := strconv.Itoa(os.Getpid())
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if _, listed := commands.homes[pid]; err != nil || listed {
			continue
		}
		dir := filepath.Join("/proc", entry.Name())
		if parent(dir) == self && marked(dir) && !used[homeOf(dir)] {
			found = append(found, pid)
		}
	}
	return found, nil
}

// parent returns the process ID of a process's parent, or an empty string if the
// process has ended.
func parent(dir string) string {
	stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
	// The name is in parentheses and may contain any characters.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return ""
	}
	return fields[1]
}

func marked(dir string) bool {
	status, _ := os.ReadFile(filepath.Join(dir, "status")) // A process that has ended has no status, and no mark.
	return bytes.Contains(status, []byte("\nNoNewPrivs:\t1\n"))
}

// homeOf returns a process's variable HOME, or an empty string if the process hides it
// or has ended.
func homeOf(dir string) string {
	env, _ := os.ReadFile(filepath.Join(dir, "environ"))
	return environ.Variable(strings.Split(string(env), "\x00"), "HOME")
}
