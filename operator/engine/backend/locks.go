package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/strata-platform/strata/operator/untrusted"
)

const (
	// writeTime exceeds the time in which a living pulumi writes a lock and renames it. lookAgain is how often
	// DropHalfWritten looks meanwhile.
	writeTime = 5 * time.Second
	lookAgain = 100 * time.Millisecond

	// mostLocks bounds how many entries of a stack's lock folder DropHalfWritten lists, and maxLock the size of a lock file
	// that it reads, in bytes. Pulumi writes about 150 bytes.
	mostLocks, maxLock = 1000, 4 << 10
)

// DropHalfWritten removes the lock files that a killed pulumi was writing, and those whose content the machine lost when its
// power failed. Pulumi takes such a file for a lock: it fails to decode an empty or truncated one, and a complete one that
// was never renamed is a lock that nobody releases. The caller's own runs of the stack are over. Other
// processes, such as an engineer's pulumi, may still write a lock: DropHalfWritten waits five seconds at most until they
// complete it.
func (s State) DropHalfWritten(ctx context.Context) error {
	return s.dropHalfWritten(ctx, writeTime)
}

// dropHalfWritten is DropHalfWritten with a duration that tests can shorten.
func (s State) dropHalfWritten(ctx context.Context, patience time.Duration) error {
	if s.Folder == "" {
		return nil
	}
	root, err := os.OpenRoot(s.Parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for locks of stack %q: %w", s.Stack, err)
	}
	defer root.Close()
	waiting, err := s.allHalfWritten(root)
	if err != nil {
		return fmt.Errorf("look for locks of stack %q: %w", s.Stack, err)
	}
	// A file that a clock dates to the future is abandoned, too, if it outlasts the wait.
	for began := time.Now(); len(waiting) > 0; {
		abandoned := time.Since(began) >= patience
		var young []string
		for _, name := range waiting {
			info, err := root.Lstat(name)
			if err == nil && !halfWritten(root, name) {
				continue
			}
			if err == nil && !abandoned && time.Since(info.ModTime()) < patience {
				young = append(young, name)
				continue
			}
			if err == nil {
				err = root.Remove(name)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove a half-written lock of stack %q: %w", s.Stack, err)
			}
		}
		if waiting = young; len(waiting) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
		}
	}
	return nil
}

// allHalfWritten returns the paths of the half-written files in the folder with the stack's locks.
func (s State) allHalfWritten(root *os.Root) (paths []string, err error) {
	dir := filepath.Join(s.Folder, Locks(s.Project, s.base()))
	entries, err := untrusted.List(root, dir, mostLocks)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range entries {
		if name := filepath.Join(dir, entry.Name()); halfWritten(root, name) {
			paths = append(paths, name)
		}
	}
	return paths, nil
}

// halfWritten reports whether a file in the folder with the locks is not a complete lock. A power failure can leave a lock
// with its final name empty or truncated, because Pulumi does not flush it to the disk before it renames it. Files that
// nobody can read stay: pulumi reports them.
func halfWritten(root *os.Root, name string) bool {
	switch filepath.Ext(name) {
	case halfWrittenSuffix:
		return true
	case lockSuffix:
		raw, err := untrusted.ReadPlain(root, name, maxLock)
		var lock map[string]any
		return err == nil && json.Unmarshal(raw, &lock) != nil
	}
	return false
}
