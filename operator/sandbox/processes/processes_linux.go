// Package processes starts commands, and kills the processes that they leave behind.
package processes

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

// KillTimeout bounds how long killed processes may take to disappear.
const KillTimeout = 10 * time.Second

// DieWithParent makes the kernel kill a command when the process that started it ends.
func DieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// Running reports whether pid is a process with the given command name. If the kernel
// has reused pid for another program, Running returns false.
func Running(pid int, name string) bool {
	comm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return err == nil && strings.TrimSpace(string(comm)) == name
}

// Heeds reports whether a process handles or ignores a signal. A process that has not
// yet executed its program does neither.
func Heeds(pid int, signal syscall.Signal) bool {
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
// process of a command whose working folder begins with it. Kill returns when all of
// these processes are gone. The processes that a command starts may be in other process
// groups, but they share its environment. Only Linux shows the environment of a
// process. Kill does not find a process that has changed both its HOME and its folder.
func Kill(home string) error {
	deadline := time.After(KillTimeout)
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
			return fmt.Errorf("killed processes %v of the run in %s are still running", left, home)
		case <-time.After(time.Millisecond):
		}
	}
}

// using returns the processes whose HOME begins with the given path, and the processes
// of commands whose working folder begins with it.
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
		// Processes of other users, and processes that are gone, have no readable
		// environment.
		dir := filepath.Join("/proc", entry.Name())
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		uses := bytes.HasPrefix(env, variable) || bytes.Contains(env, append([]byte{0}, variable...))
		if !uses {
			folder, _ := os.Readlink(filepath.Join(dir, "cwd"))
			// A process without the mark may be a user's shell.
			uses = strings.HasPrefix(folder, home) && marked(dir)
		}
		if uses {
			found = append(found, pid)
		}
	}
	return found
}
