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
)

// Check tells what keeps this process from giving commands namespaces of their own. Nil
// means that every command sees its granted files only, no other process and, where
// asked for, no network but its endpoints.
func Check() error { return check() }

var check = sync.OnceValue(func() error {
	// Go tries out handles of processes with a child before it starts its first one. In a
	// namespace of processes that child would be the first, with which the namespace ends.
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
			if err = mark(); err == nil {
				err = filterCalls()
			}
		}
		result <- err
	})
	err := <-result
	switch {
	case err == nil:
		return nil
	case checkLandlock() == nil:
		return fmt.Errorf("Landlock alone holds it, which leaves the network, other processes and the modes of files open: %w", err)
	}
	return fmt.Errorf("nothing holds it: %w", err)
})

// unshare gives the calling thread, and what it starts, namespaces of mounts, processes,
// interprocess communication and host names, and with network set of the network, too.
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

// raiseLoopback switches on the loopback interface of the calling thread's network.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("switch on loopback: %w", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err == nil {
		request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
	}
	if err != nil {
		return fmt.Errorf("switch on loopback: %w", err)
	}
	return nil
}

// addAddress gives the loopback interface of the calling thread's network one more
// address, under the name of an alias with a number.
func addAddress(alias int, address netip.Addr) error {
	if !address.Is4() || address.IsUnspecified() || address.IsMulticast() {
		return errors.New("use an IPv4 address, or one of loopback")
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

// kept are the capabilities that a process in a user namespace of its own needs to
// confine commands.
var kept = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETPCAP}

// restriction is the setting by which Ubuntu takes what a user namespace is for from
// ordinary users.
const restriction = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"

// Supported tells what keeps an ordinary user of this system from confining commands by
// namespaces, and what to do. Nil means that a process that [UserNamespace] starts can.
func Supported() error {
	if Check() == nil {
		return nil
	}
	if !haveUserNamespaces() {
		return errors.New("an ordinary user makes no user namespaces: allow them (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)")
	}
	if set, err := os.ReadFile(restriction); err == nil && strings.TrimSpace(string(set)) == "1" {
		return errors.New("AppArmor restricts user namespaces: allow them (sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for strata)")
	}
	return nil
}

// UserNamespace makes attributes start a process in a user namespace in which it
// may confine commands. The process keeps its user and group. It does nothing where this
// process may confine commands already, or the system does not let it.
func UserNamespace(attributes *syscall.SysProcAttr) {
	if Check() == nil || Supported() != nil {
		return
	}
	inUserNamespace(attributes)
}

// inUserNamespace makes attributes start a process in a user namespace of its own, with
// its user and group.
func inUserNamespace(attributes *syscall.SysProcAttr) {
	attributes.Cloneflags |= unix.CLONE_NEWUSER
	attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	attributes.AmbientCaps = kept
}

// haveUserNamespaces tries to start a process in a user namespace.
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

// dropCapabilities takes all capabilities from the calling thread, for good.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop ambient capabilities: %w", err)
	}
	for capability := uintptr(0); ; capability++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // The kernel knows no more.
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
