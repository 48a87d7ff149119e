// Package tree holds the files of an image while the image is assembled, and writes them as a tar archive or as a folder.
package tree

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// mostLinks bounds the symbolic links in one path, as Linux does.
const mostLinks = 40

// kind is the type of a node.
type kind int

const (
	folder kind = iota
	regular
	symlink
)

// node is a file, a folder or a symbolic link. Two names of one node are hard links.
type node struct {
	kind     kind
	mode     fs.FileMode // permissions, with setuid, setgid and sticky bits in the form of tar headers
	uid, gid int
	modified time.Time
	target   string           // of a symbolic link
	children map[string]*node // of a folder
	// offset and size locate the content of a regular file in the spool.
	offset, size int64
	// owner names the package or recipe that added the node.
	owner string
}

// Tree is a tree of files. Names in it are slash-separated paths, with or without a slash at the start. Parents of a name may be
// symbolic links, which a Tree follows inside itself: ".." above the root stays at the root. It is not safe for concurrent use.
type Tree struct {
	root  *node
	spool *os.File
	size  int64
	limit int64
	// Owner names the package or recipe that adds files next. A file of one owner never replaces a file of another one.
	Owner string
}

// New returns an empty tree. It keeps contents in a temporary file in dir, which Close frees. limit bounds all contents in bytes.
func New(dir string, limit int64) (*Tree, error) {
	spool, err := os.CreateTemp(dir, "tree-")
	if err != nil {
		return nil, err
	}
	// Without a name the file never outlives the process.
	if err := os.Remove(spool.Name()); err != nil {
		spool.Close()
		return nil, err
	}
	root := &node{kind: folder, mode: 0o755, children: map[string]*node{}, modified: time.Unix(0, 0)}
	return &Tree{root: root, spool: spool, limit: limit}, nil
}

// Close frees the contents.
func (t *Tree) Close() error { return t.spool.Close() }

// Add adds an entry of a tar archive. It rejects devices, and names that contain "..". A folder that exists keeps its children,
// and a symbolic link to a folder stays if the archive has a folder of its name, as in dpkg.
func (t *Tree) Add(header *tar.Header, content io.Reader) error {
	name := header.Name
	if slices.Contains(strings.Split(name, "/"), "..") {
		return fmt.Errorf("entry %q: the name contains \"..\"", name)
	}
	added := &node{mode: fs.FileMode(header.Mode & 0o7777), uid: header.Uid, gid: header.Gid, modified: header.ModTime}
	switch header.Typeflag {
	case tar.TypeDir:
		added.kind, added.children = folder, map[string]*node{}
	case tar.TypeReg:
		added.kind = regular
		if err := t.fill(added, content); err != nil {
			return fmt.Errorf("entry %q: %w", name, err)
		}
	case tar.TypeSymlink:
		if header.Linkname == "" {
			return fmt.Errorf("entry %q: the symbolic link has no target", name)
		}
		added.kind, added.target = symlink, header.Linkname
	case tar.TypeLink:
		found, err := t.find(header.Linkname, false)
		if err != nil || found.kind != regular {
			return fmt.Errorf("entry %q: the hard link's target %q is not a file of the image", name, header.Linkname)
		}
		added = found
	default:
		return fmt.Errorf("entry %q: an image cannot contain files of type %q", name, header.Typeflag)
	}
	return t.put(name, added)
}

// fill stores the content of a file.
func (t *Tree) fill(n *node, content io.Reader) error {
	if _, err := t.spool.Seek(t.size, io.SeekStart); err != nil {
		return err
	}
	written, err := io.Copy(t.spool, io.LimitReader(content, t.limit-t.size+1))
	n.offset, n.size = t.size, written
	t.size += written
	if err == nil && t.size > t.limit {
		err = fmt.Errorf("the image has more than %d bytes", t.limit)
	}
	return err
}

// put gives a node a name.
func (t *Tree) put(name string, added *node) error {
	parts := split(name)
	if len(parts) == 0 {
		if added.kind != folder {
			return errors.New("the root of an image is a folder")
		}
		return nil
	}
	parent, err := t.walk(parts[:len(parts)-1], true)
	if err == nil && parent.kind != folder {
		err = errors.New("a parent is not a folder")
	}
	if err != nil {
		return fmt.Errorf("entry %q: %w", name, err)
	}
	base := parts[len(parts)-1]
	existing := parent.children[base]
	if added.owner == "" {
		added.owner = t.Owner
	}
	switch {
	case existing == nil:
	case existing.kind == folder && added.kind == folder:
		existing.mode, existing.uid, existing.gid = added.mode, added.uid, added.gid
		return nil
	case existing.kind == symlink && added.kind == folder:
		if found, err := t.find(name, true); err == nil && found.kind == folder {
			return nil
		}
		fallthrough
	case existing.owner != added.owner:
		return fmt.Errorf("entry %q: %s has a file of this name", name, existing.owner)
	}
	parent.children[base] = added
	return nil
}

// split returns the parts of a name.
func split(name string) []string {
	return strings.FieldsFunc(path.Clean("/"+name), func(r rune) bool { return r == '/' })
}

// find returns the node of a name. With follow it also follows a symbolic link at the end.
func (t *Tree) find(name string, follow bool) (*node, error) {
	parts := split(name)
	if follow || len(parts) == 0 {
		return t.walk(parts, false)
	}
	parent, err := t.walk(parts[:len(parts)-1], false)
	if err != nil {
		return nil, err
	}
	// The children of a file are a nil map.
	if found := parent.children[parts[len(parts)-1]]; found != nil {
		return found, nil
	}
	return nil, fs.ErrNotExist
}

// walk returns the node behind the parts of a path. With create, it creates missing folders.
func (t *Tree) walk(parts []string, create bool) (*node, error) {
	passed := []*node{t.root}
	for links := 0; len(parts) > 0; {
		at, part := passed[len(passed)-1], parts[0]
		if part == ".." {
			passed, parts = passed[:max(len(passed)-1, 1)], parts[1:]
			continue
		}
		if at.kind != folder {
			return nil, errors.New("a parent is not a folder")
		}
		child := at.children[part]
		switch {
		case child == nil && !create:
			return nil, fs.ErrNotExist
		case child == nil:
			child = &node{kind: folder, mode: 0o755, children: map[string]*node{}, modified: t.root.modified, owner: t.Owner}
			at.children[part] = child
			fallthrough
		case child.kind != symlink:
			passed, parts = append(passed, child), parts[1:]
			continue
		}
		if links++; links > mostLinks {
			return nil, errors.New("the path contains too many symbolic links")
		}
		if strings.HasPrefix(child.target, "/") {
			passed = passed[:1]
		}
		target := strings.FieldsFunc(child.target, func(r rune) bool { return r == '/' })
		parts = append(slices.DeleteFunc(target, func(p string) bool { return p == "." }), parts[1:]...)
	}
	return passed[len(passed)-1], nil
}
