package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// endTimeout is how long killed processes may take to end.
	endTimeout = 15 * time.Second
	endPoll    = 10 * time.Millisecond
)

// EndLeftovers kills every process whose HOME is one of the folders or below one, and returns when they are gone. It
// returns the processes as "NAME (pid N)". When a supervisor is killed, the kernel kills the supervisor's programs but
// not the children of these programs. EndLeftovers finds the children because they inherit HOME.
func EndLeftovers(ctx context.Context, folders ...string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	ended := map[int]string{}
	for {
		found, err := endAll(folders, ended)
		if err != nil {
			return nil, err
		}
		var names, left []string
		for pid, name := range ended {
			names = append(names, name)
			if alive(pid) {
				left = append(left, name)
			}
		}
		// A killed process has freed its ports only when it is gone. Another round finds processes started meanwhile.
		if len(left) == 0 && !found {
			return names, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("end the processes that an earlier run left behind: still running: %s: end them by hand", strings.Join(left, ", "))
		case <-time.After(endPoll):
		}
	}
}

// endAll kills the processes of the folders and adds them to ended. found says whether it killed any.
func endAll(folders []string, ended map[int]string) (found bool, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false, fmt.Errorf("look for processes: %w", err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() || !livesIn(pid, folders) {
			continue
		}
		// The handle stays with this process even if another process gets its PID.
		handle, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if livesIn(pid, folders) {
			found = true
			ended[pid] = fmt.Sprintf("%s (pid %d)", Command(pid), pid)
			err = handle.Kill()
		}
		_ = handle.Release()
		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			return found, fmt.Errorf("end %s, a process that an earlier run left behind: %w", ended[pid], err)
		}
	}
	return found, nil
}

// livesIn reports whether the HOME of a process is one of the folders or below one. It returns false if the
// environment is not readable, because the process is exiting or belongs to another user.
func livesIn(pid int, folders []string) bool {
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		home, ok := bytes.CutPrefix(variable, []byte("HOME="))
		if !ok {
			continue
		}
		for _, folder := range folders {
			if string(home) == folder || strings.HasPrefix(string(home), folder+string(filepath.Separator)) {
				return true
			}
		}
	}
	return false
}

// alive reports whether a process exists and is no zombie (proc(5), stat: the state follows the name in parentheses).
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := stat[bytes.LastIndexByte(stat, ')')+1:]
	return !bytes.HasPrefix(state, []byte(" Z")) && !bytes.HasPrefix(state, []byte(" X"))
}

// Command returns the first argument of a process, its program, or "" if the process has ended or is exiting.
func Command(pid int) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	program, _, _ := bytes.Cut(line, []byte{0})
	return string(program)
}

// Memory returns the resident memory of a process in bytes (proc(5), statm), or 0 if the process has ended.
func Memory(pid int) int64 {
	statm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}
