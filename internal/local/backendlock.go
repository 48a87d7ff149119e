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

	"github.com/strata-platform/strata/operator/engine/backend"
)

const (
	// lockWait is how long unlock waits for a run of Pulumi that holds the lock of a stack.
	lockWait = 30 * time.Second
	lockPoll = 200 * time.Millisecond
)

// backendLock is the content of a lock file in Pulumi's file backend.
type backendLock struct {
	Pid      int    `json:"pid"`
	Hostname string `json:"hostname"`
}

// unlock removes the locks of killed runs from a layer's stack, and waits up to lockWait for the other runs that hold a
// lock. It returns true if no lock is left. It keeps the lock of a live run, which may be the engineer's own pulumi.
func (p *Platform) unlock(ctx context.Context, project string) (bool, error) {
	dir := filepath.Join(p.Home.LayerState(), backend.Locks(project, p.Environment))
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

// dropHalfWritten removes the lock that a killed run of Pulumi was writing for a layer's stack. Pulumi would fail, and
// report no lock that unlock could remove. The caller holds the layers.
func (p *Platform) dropHalfWritten(ctx context.Context, project string) error {
	state := backend.State{Backend: backend.Backend{Folder: "."}, Parent: p.Home.LayerState(), Project: project, Stack: p.Environment}
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
