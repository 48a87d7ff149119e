package owners

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Of returns the record of a file or folder. A file without a record belongs to root, with its permissions on this
// machine: containers see it so, too. Of does not follow a link, and returns an error for one.
func Of(path string) (Record, error) {
	file, err := open(path)
	if err != nil {
		return Record{}, fmt.Errorf("read the owner of %s: %w", path, err)
	}
	defer func() { _ = file.Close() }()
	r, err := read(file)
	if err != nil {
		return Record{}, fmt.Errorf("read the owner of %s: %w", path, err)
	}
	return r, nil
}

// OfOpen is Of for a file or folder that is open for reading.
func OfOpen(file *os.File) (Record, error) {
	r, err := read(file)
	if err != nil {
		return Record{}, fmt.Errorf("read the owner of %s: %w", file.Name(), err)
	}
	return r, nil
}

// SetOpen is Set for a file or folder that is open for reading.
func SetOpen(file *os.File, r Record) error {
	if err := write(file, r); err != nil {
		return fmt.Errorf("set the owner of %s: %w", file.Name(), err)
	}
	return nil
}

// Set writes the record of a file or folder. It does not follow a link, and returns an error for one. The file must
// belong to the current user, who must be able to read and write it.
func Set(path string, r Record) error {
	file, err := open(path)
	if err != nil {
		return fmt.Errorf("set the owner of %s: %w", path, err)
	}
	defer func() { _ = file.Close() }()
	if err := write(file, r); err != nil {
		return fmt.Errorf("set the owner of %s: %w", path, err)
	}
	return nil
}

// Supported returns nil if files in a folder can have records, and otherwise an error that contains ErrUnsupported. It
// tries it with a file that it removes.
func Supported(dir string) error {
	file, err := os.CreateTemp(dir, ".owners-*")
	if err != nil {
		return fmt.Errorf("test whether %s keeps owners: %w", dir, err)
	}
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name())
	}()
	if err := write(file, Record{}); err != nil {
		return fmt.Errorf("test whether %s keeps owners: %w", dir, err)
	}
	return nil
}

// ApplyGroup gives a folder and everything in it to a group, as Kubernetes does for fsGroup: all files get the group and
// its permissions to read and write, and folders the setgid bit. It keeps owners and all other permissions, follows no
// links, and may run again after an error. It returns an error for folders nested deeper than 200 levels, because it opens
// all of them at once.
func ApplyGroup(dir string, gid uint32) error {
	file, err := open(dir)
	if err == nil {
		err = applyGroup(file, gid, deepest)
	}
	if err != nil {
		return fmt.Errorf("give volume %s to group %d: %w", dir, gid, err)
	}
	return nil
}

// deepest is the maximum number of nested folders in a volume. A container chooses the number, and this process must not run
// out of descriptors.
const deepest = 200

// applyGroup changes a file, or a folder and the given number of levels below it, and closes it.
func applyGroup(file *os.File, gid uint32, levels int) error {
	defer func() { _ = file.Close() }()
	if levels < 0 {
		return fmt.Errorf("%s is nested deeper than %d folders: move it up", file.Name(), deepest)
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	old, err := read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file.Name(), err)
	}
	if r := old.forGroup(gid, info.IsDir()); r != old {
		if err := write(file, r); err != nil {
			return fmt.Errorf("%s: %w", file.Name(), err)
		}
	}
	if !info.IsDir() {
		return nil
	}
	for {
		entries, err := file.ReadDir(1000)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if !entry.IsDir() && !entry.Type().IsRegular() {
				continue
			}
			child, err := openAt(int(file.Fd()), entry.Name(), filepath.Join(file.Name(), entry.Name()))
			if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ELOOP) {
				continue // a container has removed it, or replaced it by a link
			}
			if err != nil {
				return err
			}
			if err := applyGroup(child, gid, levels-1); err != nil {
				return err
			}
		}
	}
}

func open(path string) (*os.File, error) { return openAt(unix.AT_FDCWD, path, path) }

// openAt opens a name in a folder without following a link. It does not wait for the other end of a pipe.
func openAt(dir int, name, path string) (*os.File, error) {
	descriptor, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("open %s: %w: links have no owners of their own", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return os.NewFile(uintptr(descriptor), path), nil
}

func read(file *os.File) (Record, error) {
	value := make([]byte, len("4294967295:4294967295:7777"))
	n, err := unix.Fgetxattr(int(file.Fd()), Attribute, value)
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EOPNOTSUPP) {
		var stat unix.Stat_t
		if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
			return Record{}, err
		}
		return Record{Mode: stat.Mode & maxMode}, nil
	}
	if errors.Is(err, unix.ERANGE) {
		return Record{}, fmt.Errorf("its attribute %s is longer than a record: remove the attribute", Attribute)
	}
	if err != nil {
		return Record{}, err
	}
	return Parse(string(value[:n]))
}

func write(file *os.File, r Record) error {
	if r.Mode > maxMode {
		return fmt.Errorf("mode %#o has more bits than %#o", r.Mode, maxMode)
	}
	err := unix.Fsetxattr(int(file.Fd()), Attribute, []byte(r.String()), 0)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("%w on its file system: use ext4, xfs or btrfs", ErrUnsupported)
	}
	return err
}
