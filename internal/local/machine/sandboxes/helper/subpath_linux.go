package helper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/strata-platform/strata/internal/local/machine/owners"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// mountsFolder is the folder of the mounts of sub paths in the folder of a container.
const mountsFolder = "mounts"

// pinSubPaths mounts each sub path of a container's mounts at a place that no container can change, and returns the mounts with
// these places as sources. The places exist in the mount namespace of this process only, until unpin.
func pinSubPaths(dir string, mounts []spec.Mount) ([]spec.Mount, error) {
	mounts = slices.Clone(mounts)
	for i := range mounts {
		m := &mounts[i]
		if m.SubPath == "" {
			continue
		}
		place := filepath.Join(dir, mountsFolder, strconv.Itoa(i))
		if err := pin(m.Source, m.SubPath, place, slices.Contains(m.Options, owners.MountOption)); err != nil {
			return nil, fmt.Errorf("mount at %q: sub path %q: %w", m.Target, m.SubPath, err)
		}
		m.Source, m.SubPath = place, ""
	}
	return mounts, nil
}

// unpin removes the mounts of pinSubPaths. A container that runs keeps its own copies.
func unpin(dir string) {
	places, _ := filepath.Glob(filepath.Join(dir, mountsFolder, "*"))
	for _, place := range places {
		_ = unix.Unmount(place, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	}
}

// pin mounts the file or folder at a path beneath root at a place. The mount refers to the opened file itself, so it does not
// matter what a container does with the path afterwards.
func pin(root, path, place string, keepsOwners bool) error {
	top, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the volume: %w", err)
	}
	defer unix.Close(top)
	found, err := beneath(top, path, unix.O_PATH, 0)
	if errors.Is(err, unix.ENOENT) {
		found, err = makeBeneath(top, path, keepsOwners)
	}
	if err != nil {
		return explain(err)
	}
	defer unix.Close(found)
	var stat unix.Stat_t
	if err := unix.Fstat(found, &stat); err != nil {
		return err
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		err = os.MkdirAll(place, 0o700)
	case unix.S_IFREG:
		if err = os.MkdirAll(filepath.Dir(place), 0o700); err == nil {
			err = os.WriteFile(place, nil, 0o600)
		}
	default:
		err = errors.New("it is neither a folder nor a regular file")
	}
	if err != nil {
		return err
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", found), place, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount it: %w", err)
	}
	return nil
}

// beneath opens a path beneath a folder. The kernel resolves the path: it returns an error for a link that leads out of the
// folder, even if somebody changes the folders at the same time (openat2(2)).
func beneath(folder int, path string, flags, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: resolve | unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV}
	for {
		fd, err := unix.Openat2(folder, path, &how)
		// The kernel gives up if somebody renames folders meanwhile.
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return fd, err
		}
	}
}

// makeBeneath creates the folders of a path that are missing beneath a folder, and opens the last one. It follows no links. As in
// the kubelet, new folders belong to root, have the permissions of the volume, and inherit the group of a folder with the setgid
// bit.
func makeBeneath(top int, path string, keepsOwners bool) (int, error) {
	volume, err := openFolder(top, ".")
	if err != nil {
		return -1, err
	}
	defer volume.Close()
	r, err := owners.OfOpen(volume)
	if err != nil {
		return -1, err
	}
	folder, err := openFolder(top, ".")
	if err != nil {
		return -1, err
	}
	defer func() { folder.Close() }()
	for part := range strings.SplitSeq(path, "/") {
		next, err := enter(folder, part, r.Mode&0o777, keepsOwners)
		if err != nil {
			return -1, err
		}
		folder.Close()
		folder = next
	}
	return unix.FcntlInt(folder.Fd(), unix.F_DUPFD_CLOEXEC, 0)
}

// openFolder opens a folder in a folder without following a link.
func openFolder(folder int, name string) (*os.File, error) {
	fd, err := beneath(folder, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// enter opens a folder in a folder, and creates it with a mode if it is missing.
func enter(folder *os.File, name string, mode uint32, keepsOwners bool) (*os.File, error) {
	found, err := openFolder(int(folder.Fd()), name)
	if !errors.Is(err, unix.ENOENT) {
		return found, err
	}
	if err := unix.Mkdirat(int(folder.Fd()), name, mode); errors.Is(err, unix.EEXIST) {
		return openFolder(int(folder.Fd()), name) // Somebody else has created it.
	} else if err != nil {
		return nil, err
	}
	found, err = openFolder(int(folder.Fd()), name)
	if err != nil || !keepsOwners {
		return found, err
	}
	parent, err := owners.OfOpen(folder)
	if err == nil {
		const setgid = 0o2000
		r := owners.Record{Mode: mode | parent.Mode&setgid}
		if r.Mode&setgid != 0 {
			r.GID = parent.GID
		}
		err = owners.SetOpen(found, r)
	}
	if err != nil {
		found.Close()
		return nil, err
	}
	return found, nil
}

// explain says what the errors of openat2 mean.
func explain(err error) error {
	switch {
	case errors.Is(err, unix.EXDEV):
		return fmt.Errorf("a link in it leads out of the volume: remove the link: %w", err)
	case errors.Is(err, unix.ELOOP):
		return fmt.Errorf("a link in it leads to a path that does not exist: remove the link: %w", err)
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("the kernel has no openat2: use Linux 5.6 or later: %w", err)
	}
	return err
}
