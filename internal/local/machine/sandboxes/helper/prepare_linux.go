package helper

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/link"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/pause"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// workspace is where this process keeps its files: a memory file system in its own mount namespace, so that nothing of it stays
// behind. Every Linux system has this folder, no pod needs it, and its path is short enough for sockets (unix(7)).
const workspace = "/sys/fs"

// The contents of the workspace.
const (
	stateFolder  = workspace + "/state"   // runsc's states and sockets
	bundleFolder = workspace + "/bundles" // a folder for each container
	logFolder    = workspace + "/logs"    // a file for each running command
	pauseImage   = workspace + "/pause.erofs"
)

// prepare sets up the namespaces of this process.
func prepare() error {
	// All users of a container read its resolv.conf. The umask of Strata would forbid them to.
	unix.Umask(0)
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	// gVisor maps the pause program from its image, so the file system must permit execution.
	if err := unix.Mount("tmpfs", workspace, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=700,size=64m"); err != nil {
		return fmt.Errorf("mount a memory file system: %w", err)
	}
	for _, dir := range []string{stateFolder, bundleFolder, logFolder} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	image, err := pause.Image(runtime.GOARCH)
	if err != nil {
		return err
	}
	if err := os.WriteFile(pauseImage, image, 0o600); err != nil {
		return err
	}
	// The addresses are reserved for documentation (RFC 5737).
	trial, err := link.New(spec.Network{Address: netip.MustParsePrefix("192.0.2.2/24"), Gateway: netip.MustParseAddr("192.0.2.1")})
	if err != nil {
		return err
	}
	trial.Close()
	return nil
}

// oomScore makes the kernel kill processes of sandboxes before others when memory runs out (proc_pid_oom_score_adj(5)).
const oomScore = "500"

func preferOOM() {
	// Without the right to change it, the processes have the score of Strata.
	_ = os.WriteFile(filepath.Join("/proc/self", "oom_score_adj"), []byte(oomScore), 0)
}

// openTerminal opens a pseudoterminal (pty(7)) and returns both ends.
func openTerminal() (terminal, replica *os.File, err error) {
	terminal, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	fd := int(terminal.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		terminal.Close()
		return nil, nil, fmt.Errorf("unlock a terminal: %w", err)
	}
	peer, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC)
	if errno != 0 {
		terminal.Close()
		return nil, nil, fmt.Errorf("open the other end of a terminal: %w", errno)
	}
	return terminal, os.NewFile(peer, "terminal"), nil
}
