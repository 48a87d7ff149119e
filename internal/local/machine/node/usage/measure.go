package usage

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// deepest is the maximum number of nested folders in a volume. Each level needs an open file of this process.
const deepest = 200

// errDeep means that a volume has more nested folders than deepest.
var errDeep = fmt.Errorf("folders are nested deeper than %d", deepest)

// used is the disk space in bytes, and the number of files, of a folder.
type used struct {
	bytes, files int64
}

// measure returns the use of a folder, with everything in it. Programs may change the folder meanwhile. measure follows no links,
// so no change makes it leave the folder.
func measure(dir string) (used, error) {
	folder, err := openFolder(unix.AT_FDCWD, dir)
	if err != nil {
		return used{}, fmt.Errorf("measure %s: %w", dir, err)
	}
	var total used
	if err := total.walk(folder, deepest); err != nil {
		return total, fmt.Errorf("measure %s: %w", dir, err)
	}
	return total, nil
}

// walk adds the entries of a folder, and closes it.
func (u *used) walk(folder *os.File, levels int) error {
	defer folder.Close()
	if levels < 0 {
		return errDeep
	}
	for {
		entries, err := folder.ReadDir(1000)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, entry := range entries {
			var stat unix.Stat_t
			err := unix.Fstatat(int(folder.Fd()), entry.Name(), &stat, unix.AT_SYMLINK_NOFOLLOW)
			if errors.Is(err, unix.ENOENT) {
				continue
			}
			if err != nil {
				return err
			}
			u.bytes += stat.Blocks * 512
			u.files++
			if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
				continue
			}
			child, err := openFolder(int(folder.Fd()), entry.Name())
			if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
				continue // a program has replaced it
			}
			if err != nil {
				return err
			}
			if err := u.walk(child, levels-1); err != nil {
				return err
			}
		}
	}
}

func openFolder(folder int, name string) (*os.File, error) {
	fd, err := unix.Openat(folder, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// free returns the bytes that are free on the disk of a folder.
func free(dir string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, fmt.Errorf("measure the free space of %s: %w", dir, err)
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil //nolint:unconvert // Bsize has another type on other systems
}
