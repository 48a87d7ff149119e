package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// acquire opens the file at path, creates it if it does not exist, and locks it. Closing the file unlocks it, and so does the
// end of the process. Another holder may delete or rename the file meanwhile: then acquire locks the new file at path.
func acquire(ctx context.Context, path string, exclusive bool) (*os.File, error) {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		switch err = syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB); {
		case err == nil && isAt(file, path):
			return file, nil
		case err != nil && !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			file.Close()
			return nil, &os.PathError{Op: "lock", Path: path, Err: err}
		}
		file.Close()
		if err == nil {
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// isAt reports whether path still names the open file.
func isAt(file *os.File, path string) bool {
	open, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(open, named)
}

// Take opens an unfinished file for this process alone: the one of an interrupted download, with its content, or an empty
// one. It waits while another process has the file.
func (s *Store) Take(ctx context.Context, name string) (*os.File, error) {
	file, err := acquire(ctx, s.Partial(name), true)
	return file, Explain("store of images", err)
}

// commit writes a file to the disk and moves it to path. Then it closes the file.
func commit(file *os.File, path string) error {
	defer file.Close()
	if err := file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// replace writes a small file in one step: readers see the old content or the new.
func replace(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if _, err := file.Write(content); err != nil {
		file.Close()
		return err
	}
	return commit(file, path)
}

// syncFolder writes the entries of a folder to the disk, so that a rename survives a power failure.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

// free returns the space in bytes that this user may still write in dir.
func free(dir string) (int64, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0, err
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil //nolint:unconvert // the type of Bsize depends on the system
}
