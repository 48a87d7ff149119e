// Package states keeps the Pulumi states of a home usable: those of the layers and those of the teams.
package states

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

	"github.com/strata-platform/strata/operator/engine/backend"
)

const (
	// lockWait is how long Unlock waits for a run of Pulumi that holds the lock of a stack.
	lockWait = 30 * time.Second
	lockPoll = 200 * time.Millisecond
)

// backendLock is the content of a lock file in Pulumi's file backend.
type backendLock struct {
	Pid      int    `json:"pid"`
	Hostname string `json:"hostname"`
}

// Layers is the file backend of the layers.
type Layers struct {
	// Folder is the folder of the backend. Stack is the name of the stack in every project.
	Folder, Stack string
}

// Address returns the URL of the backend. It turns off attribute files: a kill can truncate one, and then Pulumi cannot
// read the backend.
func (l Layers) Address() string { return "file://" + l.Folder + "?metadata=skip" }

// Unlock removes the locks of killed runs from a layer's stack, and waits up to lockWait for the other runs that hold a
// lock. It returns true if no lock is left. It keeps the lock of a live run, which may be the engineer's own pulumi.
func (l Layers) Unlock(ctx context.Context, project string) (bool, error) {
	if err := l.DropHalfWritten(ctx, project); err != nil {
		return false, err
	}
	dir := filepath.Join(l.Folder, backend.Locks(project, l.Stack))
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	for {
		held, err := removeAbandoned(dir)
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

// DropHalfWritten removes the lock that a killed run of Pulumi was writing for a layer's stack, and a lock that a power
// failure left empty. Pulumi would fail, and report no lock that Unlock could remove. The caller keeps other runs of the
// layers out.
func (l Layers) DropHalfWritten(ctx context.Context, project string) error {
	state := backend.State{Backend: backend.Backend{Folder: "."}, Parent: l.Folder, Project: project, Stack: l.Stack}
	return state.DropHalfWritten(ctx)
}

// removeAbandoned removes the locks of processes that have ended. held says whether other locks exist.
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
			return false, fmt.Errorf("remove the lock of a run that has ended: %w", err)
		}
	}
	return held, nil
}

// lives reports whether the process of the lock may still run. It returns true for a process of another host. After the
// process has ended, another program may have its PID, so lives also compares the name of the program.
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
