package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// killTimeout is how long killed processes may take to be gone.
const killTimeout = 10 * time.Second

// dieWithParent keeps a command from outliving the process that started it.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// Running tells whether pid is a process with the given command name. A number
// that some other program has by now counts as free.
func Running(pid int, name string) bool {
	comm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return err == nil && strings.TrimSpace(string(comm)) == name
}

// heeds tells whether a process handles or ignores a signal. One that is about to be given
// its program does not.
func heeds(pid int, signal syscall.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return true // It has ended.
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if name != "SigCgt" && name != "SigIgn" {
			continue
		}
		// Bit n-1 stands for signal n (proc_pid_status(5)).
		set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		if err == nil && set&(1<<(signal-1)) != 0 {
			return true
		}
	}
	return false
}

// Kill kills every process whose variable HOME begins with the given path, and every
// one that a command started whose folder does, and waits until they are gone.
// Commands start others in process groups of their own, so their environment is
// what they have in common. Only Linux shows it. What has changed both is not found.
func Kill(home string) error {
	deadline := time.After(killTimeout)
	for {
		left := using(home)
		if len(left) == 0 {
			return nil
		}
		for _, pid := range left {
			// It may have ended by itself.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		select {
		case <-deadline:
			return fmt.Errorf("processes %v of the run in %s do not end though they were killed", left, home)
		case <-time.After(time.Millisecond):
		}
	}
}

// using returns the processes whose HOME begins with the given path, and those of
// commands that work in a folder whose path does.
func using(home string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	variable := []byte("HOME=" + home)
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// Those of other users, and those that are gone by now, have none to show.
		dir := filepath.Join("/proc", entry.Name())
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		uses := bytes.HasPrefix(env, variable) || bytes.Contains(env, append([]byte{0}, variable...))
		if !uses {
			folder, _ := os.Readlink(filepath.Join(dir, "cwd"))
			// Without the mark it may be the shell of someone who looks around.
			uses = strings.HasPrefix(folder, home) && marked(dir)
		}
		if uses {
			found = append(found, pid)
		}
	}
	return found
}
