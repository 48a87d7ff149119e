//go:build unix

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/strata-platform/strata/operator/untrusted"
)

const (
	workPrefix = "pulumi-operator-"

	// holderFile is locked by the process that uses a folder of runs.
	holderFile = "holder"
)

// TakeWorkDir returns a folder in parent for [Engine.WorkDir] that no other process
// uses: one that a killed process left, so that [Engine.Clean] finds what it left
// running, or a new one. Parent may be a folder that others write to as well. The
// folder is held until release, which removes it, or until this process ends.
func TakeWorkDir(parent string) (dir string, release func(), err error) {
	// Of a list of fixed form there is no error.
	left, _ := filepath.Glob(filepath.Join(escape.Replace(parent), workPrefix+"*"))
	for _, dir := range left {
		if !own(dir) {
			continue
		}
		if holder, err := hold(dir); err == nil {
			return dir, func() { removeHeld(dir, holder) }, nil
		}
	}
	dir, err = os.MkdirTemp(parent, workPrefix)
	if err != nil {
		return "", nil, fmt.Errorf("make folder for runs: %w", err)
	}
	holder, err := hold(dir)
	if err != nil {
		return "", nil, fmt.Errorf("hold folder for runs: %w", errors.Join(err, os.RemoveAll(dir)))
	}
	return dir, func() { removeHeld(dir, holder) }, nil
}

// own tells whether a path is a folder, no link, that only this user can change.
func own(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		return false
	}
	status, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(status.Uid) == os.Getuid()
}

// hold locks a folder. The lock goes with this process.
func hold(dir string) (*os.File, error) {
	path := filepath.Join(dir, holderFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	// Whoever held it may have removed it meanwhile.
	locked, err := file.Stat()
	if err == nil {
		var there fs.FileInfo
		if there, err = os.Stat(path); err == nil && !os.SameFile(locked, there) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// removeHeld removes a folder and then lets it go.
func removeHeld(dir string, holder *os.File) {
	ctx, cancel := context.WithTimeout(context.Background(), removalTimeout)
	defer cancel()
	_ = untrusted.Remove(ctx, dir) // What is left of it the next one takes over.
	_ = holder.Close()
}
