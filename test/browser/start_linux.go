package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// program is the path of Chromium in its folder.
const program = "/usr/lib/chromium/chromium"

// Main becomes the browser, if this process is one that Open has started, and returns otherwise. TestMain of a test that calls Open
// calls Main before anything else.
func Main() {
	root := os.Getenv(rootVariable)
	if root == "" || os.Getpid() != 1 {
		return
	}
	fmt.Fprintln(os.Stderr, "become the browser:", enter(root))
	os.Exit(1)
}

// attributes gives the browser namespaces of its own, as the current user. All processes of its PID namespace end with the first
// one, which ends with the test's process.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
}

// enter makes the folder the root of this process, and executes Chromium with this process's arguments.
func enter(root string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("/dev", filepath.Join(root, "dev"), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	if err := unix.Mount("proc", filepath.Join(root, "proc"), "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := unix.Mount("tmpfs", filepath.Join(root, "tmp"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil {
		return fmt.Errorf("mount /tmp: %w", err)
	}
	if err := unix.Chroot(root); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := os.Chdir("/tmp"); err != nil {
		return err
	}
	environment := []string{"HOME=/tmp", "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "TZ=UTC"}
	return fmt.Errorf("execute %s: %w", program, unix.Exec(program, append([]string{program}, os.Args[1:]...), environment))
}
