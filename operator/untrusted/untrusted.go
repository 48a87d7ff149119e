// Package untrusted reads, writes and removes files in folders that a team's run can
// write to. A run may put anything there: a pipe without a writer, a link to a secret,
// a file of any size, a very deep tree. No function in this package blocks on such a
// file, follows a link out of the folder, or reads more than its limit.
package untrusted

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// ErrTooLarge is in errors about files that exceed a limit.
var ErrTooLarge = errors.New("too large")

// tooLarge is an error with its own message that matches [ErrTooLarge].
type tooLarge int64

func (t tooLarge) Error() string { return fmt.Sprintf("it is larger than %d bytes", int64(t)) }

func (tooLarge) Is(target error) bool { return target == ErrTooLarge }

// Read returns the content of a regular file below root that has at most limit bytes.
// Read follows links that stay below root. The error says which of these rules the file
// breaks, and is [fs.ErrNotExist] for a missing file.
func Read(root *os.Root, name string, limit int64) ([]byte, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	return read(root, name, limit, info, false)
}

// ReadPlain is [Read] for a file that must not be a link. The folders on the way to
// it may be links that stay below root.
func ReadPlain(root *os.Root, name string, limit int64) ([]byte, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	return read(root, name, limit, info, true)
}

// read reads a file. read checks the file's type and size in info before it opens the
// file, because opening a device may have side effects. If same is true, the opened
// file must be that of info.
func read(root *os.Root, name string, limit int64, info fs.FileInfo, same bool) ([]byte, error) {
	if err := regular(info, limit); err != nil {
		return nil, err
	}
	// A run may have replaced the file with a pipe in the meantime. Without openNonblock,
	// the open would wait for a writer.
	file, err := root.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	opened, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if same && !os.SameFile(info, opened) {
		return nil, errors.New("it was replaced while it was opened")
	}
	if err := regular(opened, limit); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = tooLarge(limit)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

func regular(info fs.FileInfo, limit int64) error {
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	if info.Size() > limit {
		return tooLarge(limit)
	}
	return nil
}

// Write writes a file below root and creates its folder. Write atomically replaces an
// existing file, link or pipe of that name without opening it. Write returns an error
// if the name is that of a folder.
func Write(root *os.Root, name string, data []byte) error {
	return write(root, name, data, func(*os.File) error { return nil })
}

// WriteDurably writes like [Write]. After a crash of the machine, the file has the former
// content or the new one, never a part.
func WriteDurably(root *os.Root, name string, data []byte) error {
	return write(root, name, data, (*os.File).Sync)
}

// write writes a file, and calls sync before the file takes its name.
func write(root *os.Root, name string, data []byte, sync func(*os.File) error) error {
	if err := root.MkdirAll(path.Dir(filepath.ToSlash(name)), 0o700); err != nil {
		return err
	}
	// The name is random, so no run can have created a file with it.
	made := name + "." + rand.Text()
	file, err := root.OpenFile(made, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openNonblock, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.Write(data); err == nil {
		err = sync(file)
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = root.Rename(made, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(made))
	}
	return nil
}

// List returns up to most entries of a folder below root, in no particular order.
func List(root *os.Root, name string, most int) ([]fs.DirEntry, error) {
	// The name may be that of a pipe. Without openNonblock, the open would wait for a
	// writer.
	dir, err := root.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(most)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}

// Budget bounds a [Walk]: the number of entries that it reads and the depth of the
// folders that it enters.
type Budget struct {
	Entries, Depth int
}

// errStop ends a walk.
var errStop = errors.New("stop")

// Walk calls see for each entry below root that is not a folder, folder by folder: files, links and pipes. Walk stops
// when see returns false or when the number of entries exceeds the budget. Walk enters the folders for which enter
// returns true. Walk follows no links. The error is nil if Walk has read every folder that it should enter, or if see has
// stopped it. Otherwise the error says which part of the tree Walk skipped first.
func Walk(root *os.Root, budget Budget, enter, see func(name string) bool) error {
	w := walker{root: root, enter: enter, see: see, budget: budget, left: budget.Entries}
	_ = w.walk(".", budget.Depth) // walk returns errStop or nil.
	return w.skipped
}

type walker struct {
	root       *os.Root
	enter, see func(string) bool
	budget     Budget
	left       int
	skipped    error
}

// skip records why the walk is incomplete.
func (w *walker) skip(format string, args ...any) {
	if w.skipped == nil {
		w.skipped = fmt.Errorf(format, args...)
	}
}

// walk visits the entries below a folder. A folder that does not exist is not a fault, because a run may remove it at any time.
// walk records any other folder that it cannot read, and continues.
func (w *walker) walk(dir string, depth int) error {
	entries, err := List(w.root, dir, w.left+1)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.skip("read folder %s: %w", dir, err)
		}
		return nil
	}
	for _, entry := range entries {
		if w.left--; w.left < 0 {
			w.skip("folder %s is not read to its end: the tree has more than %d entries", dir, w.budget.Entries)
			return errStop
		}
		name := path.Join(dir, entry.Name())
		switch {
		case !entry.IsDir():
			if !w.see(name) {
				return errStop
			}
		case !w.enter(name):
		case depth == 0:
			w.skip("folder %s is not read: it lies below more than %d folders", name, w.budget.Depth)
		default:
			if err := w.walk(name, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}
