package reencrypt

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/untrusted"
)

const (
	// lockFile is the name of a lock of this package. A later Move takes over the one of a killed Move.
	lockFile = "strata-rotate.json"
	// lockPoll is the interval between two attempts to take a lock.
	lockPoll = 200 * time.Millisecond
	// maxEntries bounds the entries of a folder.
	maxEntries = 50_000
)

// lock takes the lock of a stack as Pulumi does: it writes a file beside those of others, and gives way if there are any.
func (r *Rotation) lock(ctx context.Context, root *os.Root, s state) (release func() error, err error) {
	if s.project == "." {
		return func() error { return nil }, nil // Pulumi does not run a stack in the old layout before it has moved it.
	}
	dir := path.Join(s.backend, filepath.ToSlash(backend.Locks(s.project, s.stack)))
	own := path.Join(dir, lockFile)
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(map[string]any{"pid": os.Getpid(), "username": "strata rotate", "hostname": host, "timestamp": time.Now()})
	if err != nil {
		return nil, err
	}
	end := time.Now().Add(r.Patience)
	for {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		held, err := others(root, dir)
		if err == nil && !held {
			if err = untrusted.Write(root, own, content); err == nil {
				held, err = others(root, dir)
			}
			if err == nil && !held {
				return func() error { return root.Remove(own) }, nil
			}
			_ = root.Remove(own)
		}
		if err != nil {
			return nil, err
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("a run has held the lock of stack %s for %s: wait for the run, or remove its lock with `pulumi cancel`, then run this again", s.stack, r.Patience)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// others reports whether other processes hold the lock in a folder.
func others(root *os.Root, dir string) (bool, error) {
	entries, err := untrusted.List(root, dir, maxEntries)
	if err != nil {
		return false, err
	}
	for _, entry := range entries {
		if !entry.IsDir() && !strings.HasPrefix(entry.Name(), lockFile) {
			return true, nil
		}
	}
	return false, nil
}
