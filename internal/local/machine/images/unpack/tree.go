package unpack

import (
	"archive/tar"
	"errors"
	"io/fs"
	"strconv"

	"github.com/strata-platform/strata/internal/local/machine/images/erofs"
)

// quote returns a name for display on one line.
func quote(name string) string { return strconv.Quote(name) }

// mostLinks bounds the symbolic links in one path, as Linux does.
const mostLinks = 40

var errLinks = errors.New("the path contains too many symbolic links")

// walk goes down from folder along parts and returns the nodes that it passes, folder first, and the parts that do not exist.
// It follows symbolic links inside the image: ".." above the root stays at the root. With create, it creates missing folders.
func (i *Image) walk(folder *erofs.Node, parts []string, links *int, create bool) (passed []*erofs.Node, rest []string, err error) {
	passed = []*erofs.Node{folder}
	for len(parts) > 0 {
		at, part := passed[len(passed)-1], parts[0]
		if part == ".." {
			passed, parts = passed[:max(len(passed)-1, 1)], parts[1:]
			continue
		}
		if !at.IsDirectory() {
			return nil, nil, errors.New("a parent is not a folder")
		}
		child := at.Children[part]
		if child == nil {
			if !create {
				return passed, parts, nil
			}
			child = erofs.NewDirectory(0o755)
			child.Modified = i.root.Modified
			at.Children[part] = child
		}
		if child.Mode&erofs.TypeMask != erofs.Symlink {
			if create {
				i.written[name{at, part}] = true
			}
			passed, parts = append(passed, child), parts[1:]
			continue
		}
		if *links++; *links > mostLinks {
			return nil, nil, errLinks
		}
		if child.Target[0] == '/' {
			passed = passed[:1]
		}
		parts = append(split(child.Target), parts[1:]...)
	}
	return passed, nil, nil
}

// folder returns the folder that an entry is in, and creates the missing ones.
func (i *Image) folder(header *tar.Header, parents []string) (*erofs.Node, error) {
	passed, _, err := i.walk(i.root, parents, new(int), true)
	if err != nil {
		return nil, refuse(header, "%s", err)
	}
	folder := passed[len(passed)-1]
	if !folder.IsDirectory() {
		return nil, refuse(header, "a parent is not a folder")
	}
	return folder, nil
}

// remove deletes what a whiteout names, if an earlier layer has written it.
func (i *Image) remove(header *tar.Header, parents []string, base string) error {
	hidden := base[len(whiteout):]
	if base != opaque && len(base) >= len(internal) && base[:len(internal)] == internal {
		return nil
	}
	if hidden == "" || hidden == "." || hidden == ".." {
		return refuse(header, "the whiteout has no name")
	}
	passed, rest, err := i.walk(i.root, parents, new(int), false)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return refuse(header, "%s", err)
	}
	if len(rest) > 0 {
		return nil
	}
	folder := passed[len(passed)-1]
	if base == opaque {
		i.prune(folder)
		return nil
	}
	i.pruneName(folder, hidden)
	return nil
}

// prune deletes the entries of earlier layers below folder.
func (i *Image) prune(folder *erofs.Node) {
	for base := range folder.Children {
		i.pruneName(folder, base)
	}
}

// pruneName deletes one entry, and keeps what the current layer has written of it.
func (i *Image) pruneName(folder *erofs.Node, base string) {
	child := folder.Children[base]
	switch {
	case child == nil:
	case !i.written[name{folder, base}]:
		delete(folder.Children, base)
	case child.IsDirectory():
		i.prune(child)
	}
}
