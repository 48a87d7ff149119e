package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// lockWait is how long to wait for a run of pulumi that holds the lock of a stack.
	lockWait = 30 * time.Second
	lockPoll = 200 * time.Millisecond
)

// backendLock is what a file backend of Pulumi writes into a lock.
type backendLock struct {
	Pid      int    `json:"pid"`
	Hostname string `json:"hostname"`
}

// unlock waits for the runs that hold the lock of a layer's stack, and removes the locks that runs left which have been
// killed. It tells whether no lock is left. The lock of a run that lives stays: it may be the engineer's own pulumi.
func (p *Platform) unlock(ctx context.Context, project string) (bool, error) {
	// Where Pulumi's file backend has the locks of a stack.
	dir := filepath.Join(p.Home.LayerState(), ".pulumi", "locks", "organization", project, p.Environment)
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	for {
		held, err := removeAbandoned(dir)
		if err == nil {
			err = removeUnfinished(dir)
		}
		if err != nil || !held {
			return !held, err
		}
		select {
		case <-ctx.Done():
			return false, nil
		case <-time.After(lockPoll):
		}
	}
}

// removeAbandoned removes the locks of processes that have ended. It tells whether others are left.
func removeAbandoned(dir string) (held bool, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return false, fmt.Errorf("look for locks: %w", err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var lock backendLock
		if err == nil {
			err = json.Unmarshal(raw, &lock)
		}
		if err != nil {
			return false, fmt.Errorf("read the lock %s: %w", path, err)
		}
		if lock.lives() {
			held = true
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("remove a lock whose run has ended: %w", err)
		}
	}
	return held, nil
}

// unfinished is how the file backend calls a file that it has not given its name yet, and writeTime more than that takes.
const (
	unfinished = "fileblob"
	writeTime  = time.Second
)

// removeUnfinished removes what runs left that were killed while they wrote their lock: Pulumi takes it for one.
func removeUnfinished(dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, unfinished+"*"))
	for _, path := range paths {
		info, statErr := os.Stat(path)
		if statErr == nil && time.Since(info.ModTime()) > writeTime {
			err = errors.Join(err, os.Remove(path))
		}
	}
	if err != nil {
		return fmt.Errorf("remove an unfinished lock: %w", err)
	}
	return nil
}

// lives tells whether the lock's process runs, as far as can be seen from here. Another program may have the number of
// one that has ended.
func (l backendLock) lives() bool {
	if host, err := os.Hostname(); err != nil || host != l.Hostname {
		return true
	}
	if err := syscall.Kill(l.Pid, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return false
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", l.Pid))
	return err != nil || strings.TrimSpace(string(name)) == "pulumi"
}
