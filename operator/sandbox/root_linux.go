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

// stage is the mount point of the new root, in the thread's mount namespace. Every
// Linux system has this folder, and no command needs it.
const stage = "/sys"

// hostsFile is the file in which programs look up host names first (hosts(5)).
const hostsFile = "/etc/hosts"

// maxLinks bounds the symbolic links in a granted path. The kernel has the same bound.
const maxLinks = 40

// view describes a file system that consists of granted files.
type view struct {
	// mounts maps the real paths of granted files to true if the command may change them.
	mounts map[string]bool

	// links maps the paths of symbolic links to their targets.
	links map[string]string
}

// enterRoot makes a file system with the granted files, at their own paths, the root of
// the calling thread, which must have its own mount namespace. The link /proc/self/exe
// leads to program. The new root has no other entry of a process in /proc, because the
// thread's /proc would show the caller's processes.
//
// If hosts is not empty, it is the content of /etc/hosts.
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
	// No file of the new root itself is executed. Container-Optimized OS, whose nodes run pods on GKE, refuses other new mounts in a
	// user namespace (its kernel's security/chromiumos/lsm.c, chromiumos_security_sb_mount).
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("tmpfs", stage, "tmpfs", flags, "mode=755,size=1m"); err != nil {
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

// pivot makes the stage the root and unmounts the old root.
func pivot() error {
	if err := unix.Chdir(stage); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	// PivotRoot stacks the old root on top of the new one. Unmount then removes it
	// (pivot_root(2), "pivot_root(".", ".")").
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	return unix.Chdir("/")
}

// add adds a granted path and the symbolic links on the way to it. A path that does not
// exist, or that this process cannot access, grants nothing.
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

// covered reports whether a path lies in a granted folder, which already contains it.
func (v view) covered(path string) bool {
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		if _, ok := v.mounts[dir]; ok {
			return true
		}
	}
	return false
}

// mount mounts a granted file or folder at its real path in the new root.
func (v view) mount(path string) error {
	tree, err := unix.OpenTree(unix.AT_FDCWD, path,
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil // It was removed after add found it.
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
		// A read-only mount protects the mode and owner of a device. Writes to the device
		// still work.
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

// makePlace creates the mount point of a file or a folder.
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
