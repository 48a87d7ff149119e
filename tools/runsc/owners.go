package main

import (
	"maps"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/abi/linux"
	"gvisor.dev/gvisor/pkg/lisafs"
)

// hostFile and hostFolder are the host's permissions of new files: the process that serves them can always open them, and
// nobody else on this machine can. The record holds the permissions that the container asked for.
const hostFile, hostFolder = 0o600, 0o700

// ownersServer serves folders of this machine to a sandbox, and keeps the owners and permissions of their files in
// records. The sandbox checks the permissions of its users against these records.
type ownersServer struct {
	lisafs.Server
	descriptors int // the folder /proc/self/fd
}

// newOwnersServer returns a server. descriptors is an open /proc/self/fd, by which the server opens files again.
func newOwnersServer(descriptors int) *ownersServer {
	s := &ownersServer{descriptors: descriptors}
	// All operations use descriptors, so a deleted file needs no special treatment.
	s.Init(s, lisafs.ServerOpts{WalkStatSupported: true, SetAttrOnDeleted: true, AllocateOnDeleted: true, OpenOnDeleted: true})
	s.SetHandlers(table())
	return s
}

// Mount implements lisafs.ServerImpl.
func (s *ownersServer) Mount(c *lisafs.Connection, node *lisafs.Node) (*lisafs.ControlFD, linux.Statx, int, error) {
	host, stat, err := lookup(unix.AT_FDCWD, node.FilePath())
	if err != nil {
		return nil, linux.Statx{}, -1, err
	}
	attributes, err := statx(host, stat)
	if err != nil {
		_ = unix.Close(host)
		return nil, linux.Statx{}, -1, err
	}
	f := &file{host: host}
	node.IncRef() // f owns the reference
	f.Init(c, node, linux.FileMode(stat.Mode), f)
	return &f.ControlFD, attributes, -1, nil
}

// MaxMessageSize implements lisafs.ServerImpl.
func (s *ownersServer) MaxMessageSize() uint32 { return lisafs.MaxMessageSize() }

// SupportedMessages implements lisafs.ServerImpl.
func (s *ownersServer) SupportedMessages() []lisafs.MID { return slices.Sorted(maps.Keys(handlers)) }

// reopen opens the file of a descriptor again, also if it is deleted.
func (s *ownersServer) reopen(host int, flags uint32) (int, error) {
	return unix.Openat(s.descriptors, strconv.Itoa(host), int(flags)|unix.O_CLOEXEC, 0)
}

// lookup opens a name in a folder for reading, without following a symbolic link and without waiting. It does not open
// what is neither a file nor a folder, because opening a device may have effects: it returns a path descriptor then.
func lookup(folder int, name string) (int, unix.Stat_t, error) {
	var stat unix.Stat_t
	if err := unix.Fstatat(folder, name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return -1, stat, err
	}
	kind, flags := stat.Mode&unix.S_IFMT, unix.O_PATH
	if recorded(stat.Mode) {
		flags = unix.O_RDONLY | unix.O_NONBLOCK
	}
	host, err := unix.Openat(folder, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, stat, err
	}
	if err = unix.Fstat(host, &stat); err == nil && stat.Mode&unix.S_IFMT != kind {
		err = unix.ENOENT // somebody has replaced the file meanwhile
	}
	if err != nil {
		_ = unix.Close(host)
		return -1, stat, err
	}
	return host, stat, nil
}

// statx returns the attributes of an open file: the owners and permissions from its record, the others from the host.
func statx(host int, stat unix.Stat_t) (linux.Statx, error) {
	r, err := readRecord(host, stat.Mode)
	if err != nil {
		return linux.Statx{}, err
	}
	stamp := func(t unix.Timespec) linux.StatxTimestamp {
		return linux.StatxTimestamp{Sec: t.Sec, Nsec: uint32(t.Nsec)}
	}
	return linux.Statx{
		Mask:      unix.STATX_BASIC_STATS,
		Mode:      uint16(stat.Mode&unix.S_IFMT | r.mode),
		UID:       r.uid,
		GID:       r.gid,
		Ino:       stat.Ino,
		Nlink:     uint32(stat.Nlink),
		DevMajor:  unix.Major(stat.Dev),
		DevMinor:  unix.Minor(stat.Dev),
		RdevMajor: unix.Major(stat.Rdev),
		RdevMinor: unix.Minor(stat.Rdev),
		Size:      uint64(stat.Size),
		Blocks:    uint64(stat.Blocks),
		Blksize:   uint32(stat.Blksize),
		Atime:     stamp(stat.Atim),
		Mtime:     stamp(stat.Mtim),
		Ctime:     stamp(stat.Ctim),
	}, nil
}

// statxOf returns the attributes of an open file.
func statxOf(host int) (linux.Statx, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(host, &stat); err != nil {
		return linux.Statx{}, err
	}
	return statx(host, stat)
}
