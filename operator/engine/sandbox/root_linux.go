package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// stage is the folder over which the new root is mounted, in the thread's own view of
// the file system. Every Linux system has it, and no command needs it.
const stage = "/sys"

// hostsFile is where programs look host names up first (hosts(5)).
const hostsFile = "/etc/hosts"

// maxLinks bounds the links that a granted path may lead through, as the kernel does.
const maxLinks = 40

// view is a file system to be made of granted files.
type view struct {
	// mounts are the real paths of granted files, true where they may be changed.
	mounts map[string]bool

	// links are links by their paths, which lead to granted files.
	links map[string]string
}

// enterRoot makes a file system that holds the granted files, at their own paths, the
// root of the calling thread. The thread has a mount namespace of its own. program is
// what /proc/self/exe leads to: nothing else of /proc shows processes, since the
// thread's own /proc would show those of the caller.
//
// A hosts that is not empty takes the place of /etc/hosts.
func enterRoot(grants []Grant, program, hosts string) error {
	v := view{mounts: map[string]bool{}, links: map[string]string{}}
	for _, g := range grants {
		if err := v.add(g); err != nil {
			return fmt.Errorf("grant %s: %w", g.Path, err)
		}
	}
	v.links["/proc/self/exe"] = program
	if hosts != "" {
		delete(v.mounts, hostsFile)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", stage, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=1m"); err != nil {
		return fmt.Errorf("mount the new root: %w", err)
	}
	for _, path := range slices.Sorted(maps.Keys(v.mounts)) {
		if err := v.mount(path); err != nil {
			return fmt.Errorf("grant %s: %w", path, err)
		}
	}
	for path, target := range v.links {
		if v.covered(path) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(stage+path), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(target, stage+path); err != nil {
			return err
		}
	}
	if hosts != "" {
		if err := os.MkdirAll(filepath.Dir(stage+hostsFile), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(stage+hostsFile, []byte(hosts), 0o644); err != nil {
			return fmt.Errorf("name the endpoints: %w", err)
		}
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, stage, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("protect the new root: %w", err)
	}
	return pivot()
}

// pivot makes the stage the root and lets the old one go.
func pivot() error {
	if err := unix.Chdir(stage); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	// The old root comes to lie over the new one, from where it is taken off
	// (pivot_root(2), "pivot_root(".", ".")").
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	return unix.Chdir("/")
}

// add adds a granted path, with the links on the way to it. A path that
// does not exist, or that this process cannot reach itself, grants nothing.
func (v view) add(g Grant) error {
	rest := strings.Split(strings.Trim(filepath.Clean(g.Path), "/"), "/")
	at := "/"
	for links := 0; len(rest) > 0; {
		next := filepath.Join(at, rest[0])
		info, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at, rest = next, rest[1:]
			continue
		}
		target, err := os.Readlink(next)
		if err != nil {
			return err
		}
		if links++; links > maxLinks {
			return unix.ELOOP
		}
		v.links[next] = target
		if !filepath.IsAbs(target) {
			target = filepath.Join(at, target)
		}
		rest = append(strings.Split(strings.Trim(filepath.Clean(target), "/"), "/"), rest[1:]...)
		at = "/"
	}
	v.mounts[at] = v.mounts[at] || g.Write
	return nil
}

// covered tells whether a path lies in a granted folder, where it exists already.
func (v view) covered(path string) bool {
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		if _, ok := v.mounts[dir]; ok {
			return true
		}
	}
	return false
}

// mount puts a granted file or folder, by its real path, into the new root.
func (v view) mount(path string) error {
	tree, err := unix.OpenTree(unix.AT_FDCWD, path,
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil // It went meanwhile.
	}
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	var info unix.Stat_t
	if err := unix.Fstatat(tree, "", &info, unix.AT_EMPTY_PATH); err != nil {
		return err
	}
	kind := info.Mode & unix.S_IFMT
	attributes := uint64(unix.MOUNT_ATTR_NOSUID)
	if kind != unix.S_IFCHR {
		attributes |= unix.MOUNT_ATTR_NODEV
	}
	switch {
	case kind == unix.S_IFCHR || !v.mounts[path]:
		// A device is written to all the same; its mode and owner are protected.
		attributes |= unix.MOUNT_ATTR_RDONLY
	default:
		attributes |= unix.MOUNT_ATTR_NOEXEC
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attributes}); err != nil {
		return err
	}
	if !v.covered(path) {
		if err := makePlace(stage+path, kind == unix.S_IFDIR); err != nil {
			return err
		}
	}
	return unix.MoveMount(tree, "", unix.AT_FDCWD, stage+path, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// makePlace makes what a mount covers.
func makePlace(path string, dir bool) error {
	if dir {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	return file.Close()
}
