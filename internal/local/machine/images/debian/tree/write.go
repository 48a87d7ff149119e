package tree

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// WriteTar writes the tree as a tar archive in the order of the names. Equal trees result in equal bytes. The second name of a
// file becomes a hard link.
func (t *Tree) WriteTar(w io.Writer) error {
	archive := tar.NewWriter(w)
	names := map[*node]string{}
	err := t.root.visit("", func(name string, n *node) error {
		header := &tar.Header{Name: name, Mode: int64(n.mode), Uid: n.uid, Gid: n.gid, ModTime: n.modified}
		switch first, again := names[n]; {
		case again:
			header.Typeflag, header.Linkname = tar.TypeLink, first
		case n.kind == folder:
			header.Typeflag, header.Name = tar.TypeDir, name+"/"
		case n.kind == symlink:
			header.Typeflag, header.Linkname = tar.TypeSymlink, n.target
		default:
			header.Typeflag, header.Size = tar.TypeReg, n.size
			names[n] = name
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			return nil
		}
		_, err := io.Copy(archive, t.content(n))
		return err
	})
	if err != nil {
		return err
	}
	return archive.Close()
}

// WriteFolder writes the tree into a new folder, without owners: all files belong to the caller. Symbolic links with an absolute
// target lead out of the folder unless a process has the folder as its root.
func (t *Tree) WriteFolder(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	// No name follows a symbolic link out of the folder: os.Root rejects it.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	names := map[*node]string{}
	return t.root.visit("", func(name string, n *node) error {
		name = filepath.FromSlash(name)
		if first, again := names[n]; again {
			return root.Link(first, name)
		}
		switch n.kind {
		case folder:
			return root.Mkdir(name, 0o755)
		case symlink:
			return root.Symlink(n.target, name)
		}
		names[n] = name
		// The caller's files get no setuid bits, and the caller can always read and remove them.
		return t.writeFile(root, name, n, n.mode&0o111|0o644)
	})
}

func (t *Tree) writeFile(root *os.Root, name string, n *node, mode fs.FileMode) error {
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, t.content(n))
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// visit calls visit for each node below n, parents first.
func (n *node) visit(name string, visit func(string, *node) error) error {
	for _, base := range slices.Sorted(maps.Keys(n.children)) {
		child, full := n.children[base], path.Join(name, base)
		if err := visit(full, child); err != nil {
			return err
		}
		if err := child.visit(full, visit); err != nil {
			return err
		}
	}
	return nil
}
