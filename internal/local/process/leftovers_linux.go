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
	// endTimeout is how long killed processes may take to be gone.
	endTimeout = 15 * time.Second
	endPoll    = 10 * time.Millisecond
)

// EndLeftovers ends every process whose HOME is one of the folders or lies in one, and returns when they are gone. It
// returns what they were, as "NAME (pid N)". The kernel ends the programs of a supervisor that is killed, but not what
// these had started: that is found here, because a program inherits HOME from the one that starts it.
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
		// What was killed is gone when its ports are free; and nothing may have been started meanwhile.
		if len(left) == 0 && !found {
			return names, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("end what an earlier run left behind: %s does not end: end it by hand", strings.Join(left, ", "))
		case <-time.After(endPoll):
		}
	}
}

// endAll kills the processes of the folders, adds them to ended, and says whether there were any.
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
		// The handle stands for this process, even when its number is given to another one.
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
			return found, fmt.Errorf("end %s, which an earlier run left behind: %w", ended[pid], err)
		}
	}
	return found, nil
}

// livesIn says whether the HOME of a process is one of the folders or lies in one. That of a process that is ending, or
// another user's, cannot be read.
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

// alive says whether a process exists and is more than an entry that its parent has not collected yet (proc(5), stat:
// the state follows the name in parentheses).
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := stat[bytes.LastIndexByte(stat, ')')+1:]
	return !bytes.HasPrefix(state, []byte(" Z")) && !bytes.HasPrefix(state, []byte(" X"))
}

// Command is the first argument of a process, its program; "" where it has ended or is ending.
func Command(pid int) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	program, _, _ := bytes.Cut(line, []byte{0})
	return string(program)
}

// Memory is the resident memory of a process in bytes (proc(5), statm); 0 where it has ended.
func Memory(pid int) int64 {
	statm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}
