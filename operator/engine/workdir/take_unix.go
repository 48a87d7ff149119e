//go:build unix

package workdir

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

// holderFile is the file that the process that uses a folder locks.
const holderFile = "holder"

// Take returns a folder in parent, whose name has the prefix, that no other process uses: for [Folders.Parent], for example.
// Take prefers a folder that a killed process left, so that [Folders.Clean] finds the processes and folders of its runs;
// otherwise it creates a folder. Other users may write to parent. This process holds the folder until it ends or calls release,
// which removes the folder.
func Take(parent, prefix string) (dir string, release func(), err error) {
	// If parent cannot be read, Take creates a folder or fails below.
	left, _ := withPrefix(parent, prefix)
	for _, dir := range left {
		if !own(dir) {
			continue
		}
		if holder, err := hold(dir); err == nil {
			return dir, func() { removeHeld(dir, holder) }, nil
		}
	}
	dir, err = os.MkdirTemp(parent, prefix)
	if err != nil {
		return "", nil, fmt.Errorf("make folder: %w", err)
	}
	holder, err := hold(dir)
	if err != nil {
		return "", nil, fmt.Errorf("hold folder: %w", errors.Join(err, os.RemoveAll(dir)))
	}
	return dir, func() { removeHeld(dir, holder) }, nil
}

// own reports whether a path is a folder, not a link to one, that only this user can
// change.
func own(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		return false
	}
	status, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(status.Uid) == os.Getuid()
}

// hold locks a folder. The kernel releases the lock when this process ends.
func hold(dir string) (*os.File, error) {
	path := filepath.Join(dir, holderFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	// The previous holder may have removed the file between the open and the lock.
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

// removeHeld removes a folder and then releases its lock.
func removeHeld(dir string, holder *os.File) {
	ctx, cancel := context.WithTimeout(context.Background(), removalTimeout)
	defer cancel()
	_ = untrusted.Remove(ctx, dir) // The next process to take the folder removes the rest.
	_ = holder.Close()
}
