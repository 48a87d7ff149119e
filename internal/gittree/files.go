package gittree

import (
	"bytes"
	"io/fs"
	"path"
	"strings"
	"time"
)

// FS returns a tree as a file system. It follows no symbolic links, and a submodule is an empty folder.
func (o *Objects) FS(tree string) fs.FS { return &files{objects: o, root: tree} }

// ID returns the ID of the file or folder at a path of a tree. The error is fs.ErrNotExist if there is none.
func (o *Objects) ID(tree, name string) (string, error) {
	found, err := (&files{objects: o, root: tree}).find("stat", name)
	return found.id, err
}

// files is a tree as an fs.FS.
type files struct {
	objects *Objects
	root    string
}

// find returns the entry at a path. It does not follow symbolic links.
func (f *files) find(op, name string) (entry, error) {
	at := entry{mode: "40000", name: ".", id: f.root}
	if name == "." {
		return at, nil
	}
	if !fs.ValidPath(name) {
		return at, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	for part := range strings.SplitSeq(name, "/") {
		if !at.isFolder() {
			return at, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		tree, err := f.objects.tree(at.id)
		if err != nil {
			return at, err
		}
		next, ok := tree.named[part]
		if !ok {
			return at, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		at = next
	}
	return at, nil
}

// Open implements fs.FS.
func (f *files) Open(name string) (fs.File, error) {
	content, err := f.ReadFile(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Lstat(name)
	return &file{Reader: bytes.NewReader(content), info: info}, err
}

// ReadFile implements fs.ReadFileFS.
func (f *files) ReadFile(name string) ([]byte, error) {
	found, err := f.find("read", name)
	if err != nil {
		return nil, err
	}
	if found.isFolder() || found.isModule() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	// Callers bound the largest file by Total before.
	return f.objects.content(found.id, 1<<30)
}

// ReadDir implements fs.ReadDirFS.
func (f *files) ReadDir(name string) ([]fs.DirEntry, error) {
	found, err := f.find("readdir", name)
	if err != nil || found.isModule() {
		return nil, err
	}
	tree, err := f.objects.tree(found.id)
	if err != nil {
		return nil, err
	}
	all := make([]fs.DirEntry, len(tree.entries))
	for i, each := range tree.entries {
		all[i] = info{entry: each, objects: f.objects}
	}
	return all, nil
}

// Stat implements fs.StatFS.
func (f *files) Stat(name string) (fs.FileInfo, error) { return f.Lstat(name) }

// Lstat implements fs.ReadLinkFS.
func (f *files) Lstat(name string) (fs.FileInfo, error) {
	found, err := f.find("lstat", name)
	if err != nil {
		return nil, err
	}
	return info{entry: found, objects: f.objects}.Info()
}

// ReadLink implements fs.ReadLinkFS.
func (f *files) ReadLink(name string) (string, error) {
	target, err := f.ReadFile(name)
	return string(target), err
}

// info describes an entry.
type info struct {
	entry
	objects *Objects
	size    int64
}

// Info implements fs.DirEntry.
func (i info) Info() (fs.FileInfo, error) {
	if i.IsDir() {
		return i, nil
	}
	_, _, size, err := i.objects.sizes.ask(i.id)
	i.size = size
	return i, err
}

func (i info) Name() string       { return path.Base(i.name) }
func (i info) Size() int64        { return i.size }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) Sys() any           { return nil }
func (i info) Type() fs.FileMode  { return i.Mode().Type() }

// IsDir is also true for a submodule, which is an empty folder in a clone that does not fetch submodules.
func (i info) IsDir() bool { return i.isFolder() || i.isModule() }

// Mode grants read access to everybody, because Git stores no read permissions.
func (i info) Mode() fs.FileMode {
	switch {
	case i.IsDir():
		return fs.ModeDir | 0o555
	case i.isLink():
		return fs.ModeSymlink | 0o444
	}
	return 0o444
}

// file is an open file.
type file struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }
