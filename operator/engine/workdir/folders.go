// Package workdir creates and removes the folders of runs.
package workdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/strata-platform/strata/operator/sandbox/processes"
	"github.com/strata-platform/strata/operator/untrusted"
)

// runPrefix is the prefix of a folder's name.
const runPrefix = "run-"

// Folders creates folders in a parent folder, one for each run, and removes them.
type Folders struct {
	// Parent is the folder that holds the folders of runs. If Parent is empty, Folders uses the system's folder for
	// temporary files.
	Parent string

	// removing allows one removal in the background at a time.
	removing sync.Mutex
}

// Make creates a folder in Parent, for a run or for a step before one, and
// returns its absolute path. The caller removes the folder by [Folders.Remove].
// [Folders.Clean] removes folders that a caller did not remove.
func (f *Folders) Make() (string, error) {
	if f.Parent != "" {
		if err := os.MkdirAll(f.Parent, 0o700); err != nil {
			return "", err
		}
	}
	dir, err := os.MkdirTemp(f.Parent, runPrefix)
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// Clean kills the processes of runs that a killed operator left, and then removes the
// folders of these runs. Clean must not be called while anything runs in a folder of Parent. Clean returns an error if Parent
// is empty.
func (f *Folders) Clean() error {
	if f.Parent == "" {
		return errors.New("no folder of runs to clean: programs of other users share the folder for temporary files")
	}
	runs, err := filepath.Abs(filepath.Join(f.Parent, runPrefix))
	if err != nil {
		return fmt.Errorf("look for leftover folders of runs: %w", err)
	}
	if err := processes.Kill(runs); err != nil {
		return fmt.Errorf("end leftover processes of runs: %w", err)
	}
	left, err := withPrefix(filepath.Dir(runs), runPrefix)
	if err != nil {
		return fmt.Errorf("look for leftover folders of runs: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), removalTimeout)
	defer cancel()
	for _, dir := range left {
		if err := f.remove(ctx, dir); err != nil {
			return fmt.Errorf("remove leftover folder of a run: %w", err)
		}
	}
	return nil
}

// withPrefix returns the paths of the entries of a folder whose names have a prefix. It returns none if the folder does
// not exist.
func withPrefix(dir, prefix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var paths []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), prefix) {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	return paths, nil
}

// removalTimeout bounds how long a caller waits for the removal of a folder. A run can
// leave millions of files, and their removal takes minutes.
const removalTimeout = 10 * time.Second

// Remove removes a folder that [Folders.Make] created. After ten seconds, Remove
// returns, and the removal continues in the background. If this process ends before the
// removal does, [Folders.Clean] removes the rest.
func (f *Folders) Remove(dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), removalTimeout)
	defer cancel()
	_ = f.remove(ctx, dir) // Clean reports what it cannot remove.
}

func (f *Folders) remove(ctx context.Context, dir string) error {
	err := untrusted.Remove(ctx, dir)
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	go func() {
		f.removing.Lock()
		defer f.removing.Unlock()
		_ = untrusted.Remove(context.Background(), dir) // Clean reports what it cannot remove.
	}()
	return nil
}
