package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// File describes a file or folder that a recipe adds.
type File struct {
	Name     string
	Mode     fs.FileMode // permissions, with setuid, setgid and sticky bits in the form of tar headers
	UID, GID int
	Modified time.Time
}

// Write adds a file with this content, and replaces an existing one.
func (t *Tree) Write(f File, content string) error {
	added := f.node(regular)
	if err := t.fill(added, strings.NewReader(content)); err != nil {
		return err
	}
	return t.replace(f.Name, added)
}

// Mkdir adds a folder, or changes the owner and mode of an existing one.
func (t *Tree) Mkdir(f File) error {
	added := f.node(folder)
	added.children = map[string]*node{}
	return t.put(f.Name, added)
}

// Symlink adds a symbolic link, and replaces an existing file.
func (t *Tree) Symlink(name, target string, modified time.Time) error {
	return t.replace(name, &node{kind: symlink, mode: 0o777, target: target, modified: modified})
}

func (f File) node(k kind) *node {
	return &node{kind: k, mode: f.Mode, uid: f.UID, gid: f.GID, modified: f.Modified}
}

// replace gives a node a name that a file may have.
func (t *Tree) replace(name string, added *node) error {
	if existing, err := t.find(name, false); err == nil {
		if existing.kind == folder {
			return fmt.Errorf("%s is a folder", name)
		}
		added.owner = existing.owner
	}
	return t.put(name, added)
}

// Read returns the content of a file.
func (t *Tree) Read(name string) (string, error) {
	found, err := t.find(name, true)
	if err == nil && found.kind != regular {
		err = errors.New("it is not a file")
	}
	if err != nil {
		return "", fmt.Errorf("read %s of the image: %w", name, err)
	}
	content, err := io.ReadAll(t.content(found))
	return string(content), err
}

func (t *Tree) content(n *node) io.Reader { return io.NewSectionReader(t.spool, n.offset, n.size) }

// Glob returns the names that match a pattern of path.Match, sorted. It does not follow symbolic links.
func (t *Tree) Glob(pattern string) ([]string, error) {
	names := []string{""}
	for _, part := range split(pattern) {
		var next []string
		for _, name := range names {
			parent, err := t.find(name, false)
			if err != nil || parent.kind != folder {
				continue
			}
			for _, base := range slices.Sorted(maps.Keys(parent.children)) {
				matched, err := path.Match(part, base)
				if err != nil {
					return nil, fmt.Errorf("pattern %q: %w", pattern, err)
				}
				if matched {
					next = append(next, name+"/"+base)
				}
			}
		}
		names = next
	}
	return names, nil
}

// Remove removes the files and folders that match a pattern. It fails if there are none.
func (t *Tree) Remove(pattern string) error {
	names, err := t.Glob(pattern)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("remove %s: the image has no such file", pattern)
	}
	for _, name := range names {
		parent, err := t.find(path.Dir(name), true)
		if err != nil {
			return err
		}
		delete(parent.children, path.Base(name))
	}
	return nil
}

// Copy adds a copy of a file or folder, without symbolic links: their targets take their places. Links that lead to no file of
// the image are left out. The contents are shared.
func (t *Tree) Copy(from, to string) error {
	copied, err := t.copied(from, 0)
	if err == nil {
		err = t.put(to, copied)
	}
	if err != nil {
		return fmt.Errorf("copy %s of the image to %s: %w", from, to, err)
	}
	return nil
}

// deepest bounds the depth of copied folders, because a link can lead to a parent of itself.
const deepest = 64

// copied returns a copy of a file or folder. It follows symbolic links, and omits links in a folder that lead nowhere.
func (t *Tree) copied(from string, depth int) (*node, error) {
	if depth > deepest {
		return nil, fmt.Errorf("%s has more than %d folders", from, deepest)
	}
	found, err := t.find(from, true)
	if err != nil {
		return nil, err
	}
	duplicate := *found
	duplicate.owner = t.Owner
	if found.kind == folder {
		duplicate.children = map[string]*node{}
		for base := range found.children {
			child, err := t.copied(path.Join(from, base), depth+1)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			duplicate.children[base] = child
		}
	}
	return &duplicate, nil
}
