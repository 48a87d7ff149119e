package spec

import "syscall"

// Container describes a container of a pod.
type Container struct {
	// ID names the container in its pod. It has the form of [Pod.ID].
	ID string

	// RootFS is the container's file system.
	RootFS RootFS

	// Process is the container's first process. The container ends with it.
	Process

	// ReadOnlyRootFS forbids writes to the root file system.
	ReadOnlyRootFS bool

	// Mounts are mounted in this order.
	Mounts []Mount

	// Limits bounds the container.
	Limits Limits
}

// RootFS is a root file system that no container changes: the writes of a container go to memory, and end with it.
// One of Image and Folder is set.
type RootFS struct {
	// Image is the path of an EROFS image. Owners and modes are those of the image. The image must lie on a file system that
	// permits execution. With [Container.ReadOnlyRootFS] it must contain /proc, /sys, /dev, /etc/resolv.conf if the pod has DNS, and
	// the mount points of the mounts.
	Image string

	// Folder is the path of a folder. Its files belong to the container's root. The folder must contain the mount points, or
	// gVisor creates them in it. Prefer Image.
	Folder string

	// Writable is the maximum size of all writes, in bytes. Zero means no bound.
	Writable int64
}

// Process describes a process in a container.
type Process struct {
	// Args are the program and its arguments. A program without a slash is searched in the PATH of Env.
	Args []string

	// Env lists the variables as NAME=value. Nothing else is set, except PATH and HOME if they are missing.
	Env []string

	// Cwd is the absolute path of the working folder. Empty means /.
	Cwd string

	// UID and GID are the user and the group, in the container. Groups lists more groups.
	UID, GID uint32
	Groups   []uint32

	// Capabilities lists capabilities, such as CAP_CHOWN, which are effective for root only, as in other container runtimes.
	// gVisor always takes CAP_NET_RAW away.
	Capabilities []string

	// NoNewPrivileges forbids programs with the set-user-ID bit or file capabilities to gain rights.
	NoNewPrivileges bool

	// Terminal gives the process a terminal as its standard streams.
	Terminal bool
}

// Kind is the kind of a mount.
type Kind string

const (
	// Bind mounts a file or a folder of the machine.
	Bind Kind = "bind"
	// Tmpfs mounts an empty memory file system of the container.
	Tmpfs Kind = "tmpfs"
	// Shared mounts a memory file system of the pod.
	Shared Kind = "shared"
)

// Mount describes a mount in a container.
type Mount struct {
	Kind Kind

	// Source is the absolute path of a file or folder for Bind, which must not be a symbolic link, and the name of a [Memory] for
	// Shared. The caller vouches for the folders above it. It is empty for Tmpfs.
	Source string

	// SubPath selects a file or folder beneath Source for Bind: a relative path without `..`. The sandboxes resolve it
	// beneath Source in one step, so that a container that replaces a part of the path by a link reaches nothing else. A link
	// may lead to another place beneath Source. Folders that are missing are created: they belong to root, with the mode of Source.
	SubPath string

	// Target is the absolute path in the container. It does not lie in /proc or /sys.
	Target string

	// ReadOnly forbids writes.
	ReadOnly bool

	// Size is the maximum size of a Tmpfs in bytes. Zero means gVisor's default, half of the machine's memory.
	Size int64

	// Mode is the mode of the root of a Tmpfs. Zero means 0777 with the sticky bit.
	Mode uint32

	// Options are passed to gVisor for Bind. They begin with "x-", or are noexec, nosuid or nodev.
	Options []string
}

// Limits bounds a container. Zero means no bound. gVisor has no limits of its own for memory and processes, so Strata compares
// the used amounts with the limits several times a second, and kills a container that exceeds one. A container can therefore
// exceed them for a moment.
type Limits struct {
	// Memory is the maximum memory in bytes, including the files that the container writes to memory file systems.
	Memory int64

	// Processes is the maximum number of processes and threads.
	Processes int64

	// OpenFiles is the maximum number of a process's open files (RLIMIT_NOFILE). gVisor enforces it exactly.
	OpenFiles uint64
}

// Limit names a limit.
type Limit string

const (
	// MemoryLimit is [Limits.Memory].
	MemoryLimit Limit = "memory"
	// ProcessesLimit is [Limits.Processes].
	ProcessesLimit Limit = "processes"
)

// Exit says how a process ended.
type Exit struct {
	// Code is the exit code, if Signal is zero. With a signal it is 128 plus the signal, as in a shell.
	Code int

	// Signal is the signal that killed the process, or zero.
	Signal syscall.Signal

	// Exceeded names the limit that the container exceeded, so that Strata killed it. Empty means none.
	Exceeded Limit
}

// ExitOf converts a wait status (wait(2)).
func ExitOf(status syscall.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Code: 128 + int(status.Signal()), Signal: status.Signal()}
	}
	return Exit{Code: status.ExitStatus()}
}
