package sandbox

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
)

// commands lists the commands of this process that run.
var commands = struct {
	// starting is held to read while a command is started, until it is listed, and to
	// write while orphans are looked for: before it is listed a command looks like one.
	starting sync.RWMutex

	// homes are the variables HOME of the commands by the numbers of their processes.
	homes map[int]string
	mu    sync.Mutex
}{homes: map[int]string{}}

// adopt makes this process the parent of what a command's processes leave behind
// when they end, instead of process 1.
var adopt = sync.OnceValue(func() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt what runs leave behind: %w", err)
	}
	return nil
})

// mark marks the calling thread, and all that it starts, for good: they cannot
// gain privileges. It needs no kernel with Landlock.
func mark() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	return nil
}

// begin starts a command and lists it.
func begin(cmd *exec.Cmd) error {
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
	commands.homes[cmd.Process.Pid] = Value(cmd.Env, "HOME")
	return nil
}

// finish waits for a command and takes it from the list. Only then may its number be
// another's.
func finish(cmd *exec.Cmd) error {
	err := cmd.Wait()
	commands.mu.Lock()
	defer commands.mu.Unlock()
	delete(commands.homes, cmd.Process.Pid)
	return err
}

// killOrphans kills what commands that have ended left running, by whatever means
// it hides, and waits until it is gone.
func killOrphans() error {
	deadline := time.After(killTimeout)
	for {
		left, err := killOnce()
		if err != nil || len(left) == 0 {
			return err
		}
		select {
		case <-deadline:
			return fmt.Errorf("processes %v that runs left do not end though they were killed: end them by hand", left)
		case <-time.After(time.Millisecond):
		}
	}
}

// killOnce kills the orphans that there are, and returns them. Those that they
// started are then orphans, too.
func killOnce() ([]int, error) {
	commands.starting.Lock()
	defer commands.starting.Unlock()
	left, err := orphans()
	for _, pid := range left {
		// As its parent does not wait meanwhile, the number is still its own. To wait for
		// any child would take those that others wait for.
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG|unix.WALL, nil)
	}
	return left, err
}

// orphans returns the children of this process that bear the mark of commands and
// are none that is listed. Those that use the home of a listed one end with it.
func orphans() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("look for what the run left behind: %w", err)
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

// parent returns the number of a process's parent, none when it is gone.
func parent(dir string) string {
	stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
	// The name, in brackets, may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return ""
	}
	return fields[1]
}

func marked(dir string) bool {
	status, _ := os.ReadFile(filepath.Join(dir, "status")) // One that is gone is none.
	return bytes.Contains(status, []byte("\nNoNewPrivs:\t1\n"))
}

// homeOf returns a process's variable HOME, nothing when it hides or has ended.
func homeOf(dir string) string {
	env, _ := os.ReadFile(filepath.Join(dir, "environ"))
	return Value(strings.Split(string(env), "\x00"), "HOME")
}
