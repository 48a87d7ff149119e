package main

import (
	"errors"
	"math"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/abi/linux"
	"gvisor.dev/gvisor/pkg/fsutil"
	"gvisor.dev/gvisor/pkg/lisafs"
)

// A file is a file, folder or link of an ownersServer that a sandbox refers to.
type file struct {
	lisafs.ControlFD
	host int // open for reading, or a path descriptor for a link
}

var _ lisafs.ControlFDImpl = (*file)(nil)

// FD implements lisafs.ControlFDImpl.
func (f *file) FD() *lisafs.ControlFD {
	if f == nil {
		return nil
	}
	return &f.ControlFD
}

// Close implements lisafs.ControlFDImpl.
func (f *file) Close() { _ = unix.Close(f.host) }

func (f *file) server() *ownersServer { return f.Conn().ServerImpl().(*ownersServer) }

// Stat implements lisafs.ControlFDImpl.
func (f *file) Stat() (linux.Statx, error) { return statxOf(f.host) }

// SetStat implements lisafs.ControlFDImpl.
func (f *file) SetStat(change lisafs.SetStatReq) (failed uint32, err error) {
	try := func(mask uint32, set func(lisafs.SetStatReq) error) {
		if change.Mask&mask == 0 {
			return
		}
		if problem := set(change); problem != nil {
			failed |= change.Mask & mask
			err = problem
		}
	}
	try(unix.STATX_SIZE, f.truncate)
	try(unix.STATX_ATIME|unix.STATX_MTIME, f.setTimes)
	// The record is last: the sandbox sends cleared setuid and setgid bits with a new size.
	try(unix.STATX_MODE|unix.STATX_UID|unix.STATX_GID, f.setRecord)
	return failed, err
}

func (f *file) truncate(change lisafs.SetStatReq) error {
	writable, err := f.server().reopen(f.host, unix.O_WRONLY|unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(writable) }()
	return unix.Ftruncate(writable, int64(change.Size))
}

func (f *file) setTimes(change lisafs.SetStatReq) error {
	times := [2]unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Nsec: unix.UTIME_OMIT}}
	if change.Mask&unix.STATX_ATIME != 0 {
		times[0] = unix.Timespec{Sec: change.Atime.Sec, Nsec: change.Atime.Nsec}
	}
	if change.Mask&unix.STATX_MTIME != 0 {
		times[1] = unix.Timespec{Sec: change.Mtime.Sec, Nsec: change.Mtime.Nsec}
	}
	if f.IsSymlink() {
		return unix.UtimesNanoAt(f.host, "", times[:], unix.AT_EMPTY_PATH)
	}
	return fsutil.Utimensat(f.host, "", times, 0)
}

// setRecord changes the owner, the group and the permissions. A link has no record: root owns it, and a change of its
// owner succeeds without an effect, because programs that unpack archives change the owners of links, too.
func (f *file) setRecord(change lisafs.SetStatReq) error {
	if f.IsSymlink() && change.Mask&unix.STATX_MODE == 0 {
		return nil
	}
	var stat unix.Stat_t
	if err := unix.Fstat(f.host, &stat); err != nil {
		return err
	}
	if !recorded(stat.Mode) {
		return unix.EOPNOTSUPP
	}
	r, err := readRecord(f.host, stat.Mode)
	if err != nil {
		return err
	}
	if change.Mask&unix.STATX_MODE != 0 {
		r.mode = change.Mode & permissions
	}
	if change.Mask&unix.STATX_UID != 0 && change.UID.Ok() {
		r.uid = uint32(change.UID)
	}
	if change.Mask&unix.STATX_GID != 0 && change.GID.Ok() {
		r.gid = uint32(change.GID)
	}
	return r.write(f.host)
}

// Walk implements lisafs.ControlFDImpl.
func (f *file) Walk(name string) (*lisafs.ControlFD, linux.Statx, error) {
	host, stat, err := lookup(f.host, name)
	if err != nil {
		return nil, linux.Statx{}, err
	}
	return f.child(host, stat, name)
}

// child returns the file with an open descriptor and a name in folder f. It closes the descriptor if it fails.
func (f *file) child(host int, stat unix.Stat_t, name string) (*lisafs.ControlFD, linux.Statx, error) {
	attributes, err := statx(host, stat)
	if err != nil {
		_ = unix.Close(host)
		return nil, linux.Statx{}, err
	}
	child, parent := &file{host: host}, f.Node()
	var node *lisafs.Node
	parent.WithChildrenMu(func() {
		if node = parent.LookupChildLocked(name); node != nil {
			node.IncRef()
			return
		}
		node = &lisafs.Node{}
		node.InitLocked(name, parent)
	})
	child.Init(f.Conn(), node, linux.FileMode(stat.Mode), child)
	return &child.ControlFD, attributes, nil
}

// WalkStat implements lisafs.ControlFDImpl.
func (f *file) WalkStat(path lisafs.StringArray, found func(linux.Statx)) error {
	if len(path) > 0 && path[0] == "" {
		attributes, err := f.Stat()
		if err != nil {
			return err
		}
		found(attributes)
		path = path[1:]
	}
	folder, kind := f.host, uint32(f.FileType())
	for _, name := range path {
		if kind == unix.S_IFLNK {
			break // the sandbox resolves links
		}
		host, stat, err := lookup(folder, name)
		if folder != f.host {
			_ = unix.Close(folder)
		}
		if errors.Is(err, unix.ENOENT) {
			return nil
		}
		if err != nil {
			return err
		}
		folder, kind = host, stat.Mode&unix.S_IFMT
		attributes, err := statx(host, stat)
		if err != nil {
			_ = unix.Close(host)
			return err
		}
		found(attributes)
	}
	if folder != f.host {
		_ = unix.Close(folder)
	}
	return nil
}

// StatFS implements lisafs.ControlFDImpl.
func (f *file) StatFS() (lisafs.StatFS, error) {
	var s unix.Statfs_t
	if err := unix.Fstatfs(f.host, &s); err != nil {
		return lisafs.StatFS{}, err
	}
	return lisafs.StatFS{
		Type: uint64(s.Type), BlockSize: s.Bsize, NameLength: uint64(s.Namelen),
		Blocks: s.Blocks, BlocksFree: s.Bfree, BlocksAvailable: s.Bavail, Files: s.Files, FilesFree: s.Ffree,
	}, nil
}

// Readlink implements lisafs.ControlFDImpl.
func (f *file) Readlink(buffer func(uint32) []byte) (uint16, error) {
	target := buffer(unix.PathMax)
	n, err := unix.Readlinkat(f.host, "", target)
	if err != nil || n > math.MaxUint16 {
		return 0, err
	}
	return uint16(n), nil
}
