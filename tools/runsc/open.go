package main

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/abi/linux"
	"gvisor.dev/gvisor/pkg/fd"
	"gvisor.dev/gvisor/pkg/fsutil"
	"gvisor.dev/gvisor/pkg/lisafs"
	"gvisor.dev/gvisor/pkg/marshal/primitive"
)

// Open implements lisafs.ControlFDImpl.
func (f *file) Open(flags uint32) (*lisafs.OpenFD, int, error) {
	if !f.IsRegular() && !f.IsDir() {
		return nil, -1, unix.EPERM
	}
	host, err := f.server().reopen(f.host, flags)
	if err != nil {
		return nil, -1, err
	}
	open, donated := newOpenFile(&f.ControlFD, host, flags)
	return open, donated, nil
}

// An openFile is a file or folder that a sandbox has opened.
type openFile struct {
	lisafs.OpenFD
	host int
}

var _ lisafs.OpenFDImpl = (*openFile)(nil)

// newOpenFile returns the open file with a descriptor, and for a file a second descriptor for the sandbox, or -1: the
// sandbox reads and writes contents by itself.
func newOpenFile(of *lisafs.ControlFD, host int, flags uint32) (open *lisafs.OpenFD, donated int) {
	donated = -1
	if of.IsRegular() {
		if copied, err := unix.Dup(host); err == nil {
			donated = copied
		}
	}
	o := &openFile{host: host}
	o.Init(of, flags, o)
	return &o.OpenFD, donated
}

// FD implements lisafs.OpenFDImpl.
func (o *openFile) FD() *lisafs.OpenFD {
	if o == nil {
		return nil
	}
	return &o.OpenFD
}

// Close implements lisafs.OpenFDImpl.
func (o *openFile) Close() { _ = unix.Close(o.host) }

// Stat implements lisafs.OpenFDImpl.
func (o *openFile) Stat() (linux.Statx, error) { return statxOf(o.host) }

// Sync implements lisafs.OpenFDImpl.
func (o *openFile) Sync() error { return unix.Fsync(o.host) }

// Flush implements lisafs.OpenFDImpl.
func (o *openFile) Flush() error { return nil }

// Renamed implements lisafs.OpenFDImpl.
func (o *openFile) Renamed() {}

// Read implements lisafs.OpenFDImpl.
func (o *openFile) Read(into []byte, offset uint64) (uint64, error) {
	n, err := fd.NewReadWriter(o.host).ReadAt(into, int64(offset))
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return uint64(n), nil
}

// Write implements lisafs.OpenFDImpl.
func (o *openFile) Write(from []byte, offset uint64) (uint64, error) {
	n, err := fd.NewReadWriter(o.host).WriteAt(from, int64(offset))
	return uint64(n), err
}

// Allocate implements lisafs.OpenFDImpl.
func (o *openFile) Allocate(mode, offset, length uint64) error {
	return unix.Fallocate(o.host, uint32(mode), int64(offset), int64(length))
}

// Getdent64 implements lisafs.OpenFDImpl.
func (o *openFile) Getdent64(count uint32, rewind bool, found func(lisafs.Dirent64)) error {
	if rewind {
		if _, err := unix.Seek(o.host, 0, io.SeekStart); err != nil {
			return err
		}
	}
	// The entries are on the folder's own device: the mount contains no others.
	var stat unix.Stat_t
	if err := unix.Fstat(o.host, &stat); err != nil {
		return err
	}
	var buffer [8192]byte
	for read := 0; read < int(count); {
		n, err := unix.Getdents(o.host, buffer[:min(len(buffer), int(count)-read)])
		if errors.Is(err, unix.EINVAL) && read > 0 {
			return nil // the rest of the buffer is too small for the next entry
		}
		if err != nil || n == 0 {
			return err
		}
		read += n
		fsutil.ParseDirents(buffer[:n], func(ino uint64, offset int64, kind uint8, name string, _ uint16) {
			found(lisafs.Dirent64{
				Ino: primitive.Uint64(ino), Off: primitive.Uint64(offset), Type: primitive.Uint8(kind),
				DevMajor: primitive.Uint32(unix.Major(stat.Dev)), DevMinor: primitive.Uint32(unix.Minor(stat.Dev)),
				Name: lisafs.SizedString(name),
			})
		})
	}
	return nil
}
