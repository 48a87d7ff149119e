package untrusted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// batch is how many entries of a folder are read at a time.
const batch = 1024

// Remove removes a file, or a folder with everything in it. Remove follows no links.
// Unlike [os.RemoveAll], it keeps at most two folders open regardless of the tree's
// depth, returns ctx's error when ctx ends, and removes folders whose mode forbids it.
// Runs must not be able to change the folder's parent.
func Remove(ctx context.Context, dir string) error {
	err := os.Remove(dir)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	top, err := openFolder(unix.AT_FDCWD, dir)
	if err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	defer top.Close()
	r := remover{ctx: ctx, top: top}
	if err := r.each(top, r.flatten); err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	return os.Remove(dir)
}

// remover empties the folder top. remover processes a tree level by level: it moves
// folders into top before it empties them.
type remover struct {
	ctx   context.Context
	top   *os.File
	moved int
}

// each calls do for the entries of a folder until the folder is empty.
func (r *remover) each(dir *os.File, do func(name string) error) error {
	for {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return err
		}
		names, err := dir.Readdirnames(batch)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := do(name); err != nil {
				return err
			}
		}
	}
}

// flatten removes an entry of top. flatten first moves the folders in that entry to
// top.
func (r *remover) flatten(name string) error {
	top := int(r.top.Fd())
	if done, err := removeEntry(top, name); done || err != nil {
		return err
	}
	dir, err := openFolder(top, name)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := r.each(dir, func(inner string) error { return r.raise(dir, inner) }); err != nil {
		return err
	}
	return unix.Unlinkat(top, name, unix.AT_REMOVEDIR)
}

// raise removes an entry of a folder, or moves it to top.
func (r *remover) raise(dir *os.File, name string) error {
	from := int(dir.Fd())
	if done, err := removeEntry(from, name); done || err != nil {
		return err
	}
	// A move changes the folder's ".." entry, which needs write permission on the folder.
	if err := allow(from, name); err != nil {
		return err
	}
	for {
		r.moved++
		err := unix.Renameat2(from, name, int(r.top.Fd()), ".removed-"+strconv.Itoa(r.moved), unix.RENAME_NOREPLACE)
		if !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
}

// removeEntry removes a file or an empty folder.
func removeEntry(dir int, name string) (done bool, err error) {
	err = unix.Unlinkat(dir, name, 0)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
		err = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	}
	switch {
	case err == nil, errors.Is(err, unix.ENOENT):
		return true, nil
	case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST):
		return false, nil
	}
	return false, &os.PathError{Op: "unlinkat", Path: name, Err: err}
}

// openFolder opens a folder, and not a link to one, to list it and to remove its
// entries.
func openFolder(dir int, name string) (*os.File, error) {
	if err := allow(dir, name); err != nil {
		return nil, err
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "openat", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// allow gives the owner of a folder, and not of a link to one, all permissions on it.
func allow(dir int, name string) error {
	// O_PATH works whatever the folder's mode is.
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "openat", Path: name, Err: err}
	}
	defer unix.Close(fd)
	var status unix.Stat_t
	if err := unix.Fstat(fd, &status); err != nil {
		return &os.PathError{Op: "fstat", Path: name, Err: err}
	}
	if status.Mode&0o700 == 0o700 {
		return nil
	}
	return os.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700)
}
