package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/lisafs"
	"gvisor.dev/gvisor/pkg/log"
	"gvisor.dev/gvisor/pkg/unet"
	"gvisor.dev/gvisor/runsc/boot"
	"gvisor.dev/gvisor/runsc/config"
	"gvisor.dev/gvisor/runsc/fsgofer"
	"gvisor.dev/gvisor/runsc/specutils"
)

// Where upstream's preparation leaves the container's files and the descriptors of this process.
const (
	preparedRoot        = "/root"
	preparedDescriptors = "/proc/fs"
)

// A service serves the mounts of one container: those with owners by an ownersServer, the others by upstream's server.
type service struct {
	conf     *config.Config
	spec     *specs.Spec
	confs    boot.GoferMountConfFlags // the root's, then one for each mount that has one
	sockets  []int                    // to the sandbox, for those of confs that use lisafs
	mountsFD int                      // the sandbox reads the mounts from here
	procFD   int                      // a byte written here unmounts /proc
}

// run serves until the sandbox ends.
func (s *service) run() error {
	// The sandbox applies umasks itself.
	unix.Umask(0)
	if err := fsgofer.OpenProcSelfFD(preparedDescriptors); err != nil {
		return err
	}
	descriptors, err := unix.Open(preparedDescriptors, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", preparedDescriptors, err)
	}
	if err := s.unmountProc(); err != nil {
		return fmt.Errorf("unmount /proc: %w", err)
	}
	if err := unix.Chroot(preparedRoot); err != nil {
		return fmt.Errorf("change the root to %s: %w", preparedRoot, err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("change to the root: %w", err)
	}
	mounts, err := s.resolve()
	if err != nil {
		return err
	}
	if err := s.announce(mounts); err != nil {
		return fmt.Errorf("send the mounts to the sandbox: %w", err)
	}
	plain := fsgofer.NewLisafsServer(fsgofer.Config{
		HostUDS: s.conf.GetHostUDS(), HostFifo: s.conf.HostFifo,
		RUID: unix.Getuid(), EUID: unix.Geteuid(), RGID: unix.Getgid(), EGID: unix.Getegid(),
	})
	if err := restrict(); err != nil {
		return fmt.Errorf("restrict the system calls: %w", err)
	}
	return s.serve(mounts, plain, newOwnersServer(descriptors))
}

// unmountProc lets the child process that upstream's preparation started unmount /proc, and waits for its end.
func (s *service) unmountProc() error {
	if s.procFD < 0 {
		return nil
	}
	if _, err := unix.Write(s.procFD, []byte{0}); err != nil {
		return err
	}
	_ = unix.Close(s.procFD)
	var status unix.WaitStatus
	if _, err := unix.Wait4(-1, &status, 0, nil); err != nil {
		return err
	}
	if status.ExitStatus() != 0 {
		return fmt.Errorf("the process that does it ended with status %#x", status)
	}
	return nil
}

// resolve returns the mounts in the form that the sandbox expects: the destinations without symbolic links, and options
// that depend on the file system. The container's root is the root of this process.
func (s *service) resolve() ([]specs.Mount, error) {
	mounts := slices.Clone(s.spec.Mounts)
	for i := range mounts {
		m := &mounts[i]
		if !s.served(i) {
			continue
		}
		target, err := filepath.EvalSymlinks(m.Destination)
		if err != nil {
			return nil, fmt.Errorf("resolve mount %s: %w", m.Destination, err)
		}
		var stat unix.Statfs_t
		if err := unix.Statfs(target, &stat); err != nil {
			return nil, fmt.Errorf("find the file system of mount %s: %w", m.Destination, err)
		}
		m.Destination = target
		m.Options = slices.DeleteFunc(slices.Clone(m.Options), func(option string) bool { return option == ownersOption })
		switch stat.Type {
		case unix.OVERLAYFS_SUPER_MAGIC:
			m.Options = append(m.Options, "overlayfs_stale_read")
		case unix.NFS_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC:
			// These file systems write data when an application closes a file.
			m.Options = append(m.Options, "disable_file_handle_sharing")
		}
	}
	return mounts, nil
}

// served reports whether this process serves a mount of the spec.
func (s *service) served(mount int) bool {
	conf, ok := s.confOf(mount)
	return ok && conf.ShouldUseLisafs()
}

// confOf returns the configuration of a mount of the spec, and false for a mount without one, such as proc.
func (s *service) confOf(mount int) (boot.GoferMountConf, bool) {
	if !specutils.HasMountConfig(s.spec.Mounts[mount]) {
		return boot.GoferMountConf{}, false
	}
	index := 1 // the root's is first
	for _, m := range s.spec.Mounts[:mount] {
		if specutils.HasMountConfig(m) {
			index++
		}
	}
	if index >= len(s.confs) {
		return boot.GoferMountConf{}, false
	}
	return s.confs[index], true
}

// announce sends the mounts to the sandbox.
func (s *service) announce(mounts []specs.Mount) error {
	text, err := json.Marshal(mounts)
	if err != nil {
		return err
	}
	pipe := os.NewFile(uintptr(s.mountsFD), "mounts")
	if _, err := pipe.Write(text); err != nil {
		return err
	}
	return pipe.Close()
}

// serve starts a connection for each socket, and waits for the end of all.
func (s *service) serve(mounts []specs.Mount, plain *fsgofer.LisafsServer, owners *ownersServer) error {
	start := func(server *lisafs.Server, path string, readOnly bool) error {
		if len(s.sockets) == 0 {
			return fmt.Errorf("serve %s: the flag io-fds has no socket for it", path)
		}
		socket, err := unet.NewSocket(s.sockets[0])
		if err != nil {
			return fmt.Errorf("serve %s: %w", path, err)
		}
		s.sockets = s.sockets[1:]
		connection, err := server.CreateConnection(socket, path, readOnly)
		if err != nil {
			return fmt.Errorf("serve %s: %w", path, err)
		}
		server.StartConnection(connection)
		return nil
	}
	if root := s.confs[0]; root.ShouldUseLisafs() {
		if err := start(&plain.Server, "/", s.spec.Root.Readonly || root.ShouldUseOverlayfs()); err != nil {
			return err
		}
	}
	for i, m := range mounts {
		if !s.served(i) {
			continue
		}
		server := &plain.Server
		if keepsOwners(s.spec.Mounts[i]) {
			server = &owners.Server
		}
		conf, _ := s.confOf(i)
		if err := start(server, m.Destination, specutils.IsReadonlyMount(m.Options) || conf.ShouldUseOverlayfs()); err != nil {
			return err
		}
	}
	plain.Wait()
	owners.Wait()
	log.Infof("the sandbox has ended")
	return nil
}
