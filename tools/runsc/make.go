package main

import (
	"strconv"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/abi/linux"
	"gvisor.dev/gvisor/pkg/fsutil"
	"gvisor.dev/gvisor/pkg/lisafs"
)

// owned returns the record of a new file.
func owned(mode linux.FileMode, uid lisafs.UID, gid lisafs.GID) record {
	return record{uid: uint32(uid), gid: uint32(gid), mode: uint32(mode) & permissions}
}

// adopt writes the record of a new file and returns the file. If it fails, it removes the file. A file whose record is
// missing because this process has ended belongs to root and has no permissions for others.
func (f *file) adopt(name string, r record, folder bool) (*lisafs.ControlFD, linux.Statx, error) {
	child, attributes, err := func() (*lisafs.ControlFD, linux.Statx, error) {
		host, stat, err := lookup(f.host, name)
		if err != nil {
			return nil, linux.Statx{}, err
		}
		if recorded(stat.Mode) {
			if err := r.write(host); err != nil {
				_ = unix.Close(host)
				return nil, linux.Statx{}, err
			}
		}
		return f.child(host, stat, name)
	}()
	if err != nil {
		flags := 0
		if folder {
			flags = unix.AT_REMOVEDIR
		}
		_ = unix.Unlinkat(f.host, name, flags)
	}
	return child, attributes, err
}

// OpenCreate implements lisafs.ControlFDImpl.
func (f *file) OpenCreate(mode linux.FileMode, uid lisafs.UID, gid lisafs.GID, name string, flags uint32) (*lisafs.ControlFD, linux.Statx, *lisafs.OpenFD, int, error) {
	// The descriptor for the caller comes first, so that only adopt can fail afterwards.
	host, err := unix.Openat(f.host, name, int(flags)|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, hostFile)
	if err != nil {
		return nil, linux.Statx{}, nil, -1, err
	}
	child, attributes, err := f.adopt(name, owned(mode, uid, gid), false)
	if err != nil {
		_ = unix.Close(host)
		return nil, linux.Statx{}, nil, -1, err
	}
	open, donated := newOpenFile(child, host, flags)
	return child, attributes, open, donated, nil
}

// Mkdir implements lisafs.ControlFDImpl.
func (f *file) Mkdir(mode linux.FileMode, uid lisafs.UID, gid lisafs.GID, name string) (*lisafs.ControlFD, linux.Statx, error) {
	if err := unix.Mkdirat(f.host, name, hostFolder); err != nil {
		return nil, linux.Statx{}, err
	}
	return f.adopt(name, owned(mode, uid, gid), true)
}

// Mknod implements lisafs.ControlFDImpl. It makes files only: for EPERM, the sandbox keeps a pipe or a socket in its
// memory, and refuses a device.
func (f *file) Mknod(mode linux.FileMode, uid lisafs.UID, gid lisafs.GID, name string, _, _ uint32) (*lisafs.ControlFD, linux.Statx, error) {
	if mode.FileType() != linux.ModeRegular {
		return nil, linux.Statx{}, unix.EPERM
	}
	attributes, err := f.Stat()
	if err != nil {
		return nil, linux.Statx{}, err
	}
	// For files that it opens and for folders, the sandbox itself follows the rule of folders with the setgid bit.
	if attributes.Mode&unix.S_ISGID != 0 {
		gid = lisafs.GID(attributes.GID)
	}
	if err := unix.Mknodat(f.host, name, unix.S_IFREG|hostFile, 0); err != nil {
		return nil, linux.Statx{}, err
	}
	return f.adopt(name, owned(mode, uid, gid), false)
}

// Symlink implements lisafs.ControlFDImpl. Linux stores no user attributes for links, so root owns all of them.
func (f *file) Symlink(name, target string, _ lisafs.UID, _ lisafs.GID) (*lisafs.ControlFD, linux.Statx, error) {
	if err := unix.Symlinkat(target, f.host, name); err != nil {
		return nil, linux.Statx{}, err
	}
	return f.adopt(name, record{}, false)
}

// Link implements lisafs.ControlFDImpl. Both names share the record.
func (f *file) Link(folder lisafs.ControlFDImpl, name string) (*lisafs.ControlFD, linux.Statx, error) {
	to := folder.(*file)
	if err := unix.Linkat(f.server().descriptors, strconv.Itoa(f.host), to.host, name, unix.AT_SYMLINK_FOLLOW); err != nil {
		return nil, linux.Statx{}, err
	}
	return to.Walk(name)
}

// Unlink implements lisafs.ControlFDImpl.
func (f *file) Unlink(name string, flags uint32) error {
	return unix.Unlinkat(f.host, name, int(flags))
}

// RenameAt implements lisafs.ControlFDImpl.
func (f *file) RenameAt(name string, folder lisafs.ControlFDImpl, newName string) error {
	return fsutil.RenameAt(f.host, name, folder.(*file).host, newName)
}

// Renamed implements lisafs.ControlFDImpl.
func (f *file) Renamed() {}

// Connect implements lisafs.ControlFDImpl.
func (f *file) Connect(uint32) (int, error) { return -1, unix.EPERM }

// ConnectWithCreds implements lisafs.ControlFDImpl.
func (f *file) ConnectWithCreds(uint32, lisafs.UID, lisafs.GID) (int, error) { return -1, unix.EPERM }

// BindAt implements lisafs.ControlFDImpl.
func (f *file) BindAt(string, uint32, linux.FileMode, lisafs.UID, lisafs.GID) (*lisafs.ControlFD, linux.Statx, *lisafs.BoundSocketFD, int, error) {
	return nil, linux.Statx{}, nil, -1, unix.EPERM
}

// GetXattr implements lisafs.ControlFDImpl.
func (f *file) GetXattr(string, uint32, func(uint32) []byte) (uint16, error) {
	return 0, unix.EOPNOTSUPP
}

// SetXattr implements lisafs.ControlFDImpl.
func (f *file) SetXattr(string, string, uint32) error { return unix.EOPNOTSUPP }

// ListXattr implements lisafs.ControlFDImpl.
func (f *file) ListXattr(uint64) (lisafs.StringArray, error) { return nil, unix.EOPNOTSUPP }

// RemoveXattr implements lisafs.ControlFDImpl.
func (f *file) RemoveXattr(string) error { return unix.EOPNOTSUPP }
