package sandbox

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/strata-platform/strata/operator/sandbox/processes"
	"github.com/strata-platform/strata/operator/sandbox/seccomp"
)

// Check returns an error that says why this process cannot give commands their own
// namespaces. If Check returns nil, every command sees only its granted files, no other
// process, and, if it has a [Network], only the endpoints of that network.
func Check() error { return check() }

var check = sync.OnceValue(func() error {
	// Before Go starts its first child, it tests pidfds with a child of its own. In a new
	// PID namespace, that child would be the first process, and the namespace would end
	// with it. This call makes Go run the test now.
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Release()
	}
	result := make(chan error, 1)
	onThread(func() {
		err := unshare(true)
		if err == nil {
			err = raiseLoopback()
		}
		if err == nil {
			err = enterRoot(Grants("/usr/bin"), "/usr/bin/true", "")
		}
		if err == nil {
			err = dropCapabilities()
		}
		if err == nil {
			if err = processes.Mark(); err == nil {
				err = seccomp.Install()
			}
		}
		result <- err
	})
	err := <-result
	switch {
	case err == nil:
		return nil
	case checkLandlock() == nil:
		return fmt.Errorf("only Landlock confines it, so it can reach the network, other processes and the modes of files: %w", err)
	}
	return fmt.Errorf("nothing confines it: %w", err)
})

// unshare moves the calling thread into a new mount, IPC and UTS namespace, and if
// network is true into a new network namespace. The processes that the thread starts
// are in a new PID namespace as well.
func unshare(network bool) error {
	flags := unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if network {
		flags |= unix.CLONE_NEWNET
	}
	if err := unix.Unshare(flags); err != nil {
		return fmt.Errorf("make namespaces: %w", err)
	}
	return nil
}

// raiseLoopback brings up the loopback interface of the calling thread's network
// namespace.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bring up the loopback interface: %w", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err == nil {
		request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
	}
	if err != nil {
		return fmt.Errorf("bring up the loopback interface: %w", err)
	}
	return nil
}

// addAddress adds an address to the loopback interface of the calling thread's network
// namespace. The address gets an interface alias of its own, with the number alias.
func addAddress(alias int, address netip.Addr) error {
	if !address.Is4() || address.IsUnspecified() || address.IsMulticast() {
		return errors.New("use an IPv4 address or a loopback address")
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq(fmt.Sprintf("lo:%d", alias))
	if err == nil {
		err = request.SetInet4Addr(address.AsSlice())
	}
	if err == nil {
		err = unix.IoctlIfreq(fd, unix.SIOCSIFADDR, request)
	}
	return err
}

// kept lists the capabilities that a process in its own user namespace needs to confine
// commands.
var kept = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETPCAP}

// restriction is Ubuntu's setting that denies ordinary users the capabilities in a user
// namespace.
const restriction = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"

// Supported returns an error that says why an ordinary user of this system cannot
// confine commands by namespaces, and what to do about it. If Supported returns nil, a
// process that [UserNamespace] starts can confine commands.
func Supported() error {
	if Check() == nil {
		return nil
	}
	if !haveUserNamespaces() {
		return errors.New("ordinary users cannot create user namespaces: allow them (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)")
	}
	if set, err := os.ReadFile(restriction); err == nil && strings.TrimSpace(string(set)) == "1" {
		return errors.New("AppArmor restricts user namespaces: allow them (sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for strata)")
	}
	return nil
}

// UserNamespace changes attributes so that they start a process in a user namespace in
// which it may confine commands. The process keeps its user and group. UserNamespace
// does nothing if this process may already confine commands, or if the system does not
// permit user namespaces.
func UserNamespace(attributes *syscall.SysProcAttr) {
	if Check() == nil || Supported() != nil {
		return
	}
	inUserNamespace(attributes)
}

// inUserNamespace changes attributes so that they start a process in a new user
// namespace with the same user and group.
func inUserNamespace(attributes *syscall.SysProcAttr) {
	attributes.Cloneflags |= unix.CLONE_NEWUSER
	attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	attributes.AmbientCaps = kept
}

// haveUserNamespaces reports whether this process can start a process in a user
// namespace.
var haveUserNamespaces = sync.OnceValue(func() bool {
	attributes := &syscall.SysProcAttr{}
	inUserNamespace(attributes)
	process, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{Sys: attributes})
	if err != nil {
		return false
	}
	state, err := process.Wait()
	return err == nil && state.Success()
})

// dropCapabilities permanently drops all capabilities of the calling thread.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop ambient capabilities: %w", err)
	}
	for capability := uintptr(0); ; capability++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // This is beyond the kernel's last capability.
		}
		if err != nil {
			return fmt.Errorf("drop capability %d: %w", capability, err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}
