package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/abi/linux"
	"gvisor.dev/gvisor/pkg/context"
	"gvisor.dev/gvisor/pkg/lisafs"
	"gvisor.dev/gvisor/pkg/unet"
)

// A volume is a folder that an ownersServer serves to a client, as to a sandbox, by the real protocol.
type volume struct {
	t      *testing.T
	dir    string
	client *lisafs.Client
	root   lisafs.ClientFD
}

// newVolume serves a new folder. It skips the test if the folder's file system stores no user attributes.
func newVolume(t *testing.T) *volume {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Setxattr(dir, attribute, []byte(record{mode: 0o755}.String()), 0); err != nil {
		t.Skipf("the folder for temporary files stores no user attributes: %v", err)
	}
	return serveVolume(t, dir, false)
}

func serveVolume(t *testing.T, dir string, readOnly bool) *volume {
	t.Helper()
	descriptors, err := unix.Open("/proc/self/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	here, there, err := unet.SocketPair(false)
	if err != nil {
		t.Fatal(err)
	}
	server := newOwnersServer(descriptors)
	connection, err := server.CreateConnection(there, dir, readOnly)
	if err != nil {
		t.Fatal(err)
	}
	server.StartConnection(connection)
	t.Cleanup(func() {
		server.Wait()
		server.Destroy()
		_ = unix.Close(descriptors)
	})
	client, root, _, err := lisafs.NewClient(here)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &volume{t: t, dir: dir, client: client, root: client.NewFD(root.ControlFD)}
}

// create makes a file with a record and returns it.
func (v *volume) create(name string, mode linux.FileMode, uid lisafs.UID, gid lisafs.GID) lisafs.ClientFD {
	v.t.Helper()
	inode, opened, donated, err := v.root.OpenCreateAt(context.Background(), name, unix.O_RDWR, mode, uid, gid)
	if err != nil {
		v.t.Fatal(err)
	}
	if donated < 0 {
		v.t.Error("the sandbox gets no descriptor for the contents")
	}
	_ = unix.Close(donated)
	v.client.CloseFD(context.Background(), opened, false)
	return v.client.NewFD(inode.ControlFD)
}

// walk returns the file at a name.
func (v *volume) walk(name string) lisafs.ClientFD {
	v.t.Helper()
	inode, err := v.root.Walk(context.Background(), name)
	if err != nil {
		v.t.Fatalf("walk to %s: %v", name, err)
	}
	return v.client.NewFD(inode.ControlFD)
}

// want checks what the client sees of a file.
func (v *volume) want(name string, want record) {
	v.t.Helper()
	stats, err := v.root.WalkStat(context.Background(), []string{name})
	if err != nil || len(stats) != 1 {
		v.t.Fatalf("stat %s: %d results, %v", name, len(stats), err)
	}
	s := stats[0]
	if got := (record{uid: s.UID, gid: s.GID, mode: uint32(s.Mode) & permissions}); got != want {
		v.t.Errorf("%s has the record %v, want %v", name, got, want)
	}
}

// wantHost checks the permissions of a file on this machine, and that it belongs to the current user.
func (v *volume) wantHost(name string, mode uint32) {
	v.t.Helper()
	var stat unix.Stat_t
	if err := unix.Lstat(filepath.Join(v.dir, name), &stat); err != nil {
		v.t.Fatal(err)
	}
	if stat.Mode&permissions != mode || int(stat.Uid) != os.Getuid() {
		v.t.Errorf("%s has mode %#o and belongs to user %d, want mode %#o and user %d", name, stat.Mode&permissions, stat.Uid, mode, os.Getuid())
	}
}

// set changes attributes.
func set(file lisafs.ClientFD, change linux.Statx) error {
	failed, why, err := file.SetStat(context.Background(), &change)
	if err == nil && failed != 0 {
		// The sandbox ignores this form of an error.
		return fmt.Errorf("the server reports success, and %#x failed: %w", failed, why)
	}
	return err
}
