// Package seccomp installs a filter of system calls.
package seccomp

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refused lists system calls that no command needs. These calls create namespaces and
// mounts, trace other processes, reach objects that namespaces do not separate (keys,
// file handles), or belong to parts of the kernel with a history of vulnerabilities.
var refused = []uint32{
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_QUOTACTL, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT, unix.SYS_SYSLOG,
	unix.SYS_SETDOMAINNAME, unix.SYS_SETHOSTNAME, unix.SYS_VHANGUP,
}

// namespaceFlags holds the flags of clone that create namespaces.
const namespaceFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// families lists the address families of sockets that a command may create. Others,
// such as AF_VSOCK for virtual machines, are not bound to a network namespace.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6}

// Offsets in struct seccomp_data (linux/seccomp.h). The filter reads the lower half of
// an argument, which comes first on the architectures below.
const (
	numberOffset = 0
	archOffset   = 4
	firstOffset  = 16
	thirdOffset  = firstOffset + 2*8
)

// architectures maps Go's names to the values of AUDIT_ARCH (linux/audit.h).
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// x32 is the bit in the numbers of amd64's x32 system calls.
const x32 = 0x40000000

func answer(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// filter returns the BPF program that the kernel runs for each system call of a
// command.
func filter(architecture uint32) []bpf.Instruction {
	allow := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: architecture, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: numberOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1},
		answer(unix.ENOSYS),
	}
	for _, call := range refused {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: 1}, answer(unix.EPERM))
	}
	// The flags of clone3 are in memory, which a filter cannot read. Without clone3,
	// programs use clone.
	program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE3, SkipTrue: 1}, answer(unix.ENOSYS))
	program = append(program,
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE, SkipTrue: 4},
		bpf.LoadAbsolute{Off: firstOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: namespaceFlags, SkipFalse: 1},
		answer(unix.EPERM),
		allow,
	)
	family := []bpf.Instruction{bpf.LoadAbsolute{Off: firstOffset, Size: 4}}
	for _, known := range families {
		family = append(family, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: known, SkipTrue: 1}, allow)
	}
	// NETLINK_ROUTE shows a program its network interfaces; other netlink protocols are
	// refused.
	family = append(family,
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_NETLINK, SkipTrue: 3},
		bpf.LoadAbsolute{Off: thirdOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.NETLINK_ROUTE, SkipTrue: 1},
		allow,
		answer(unix.EAFNOSUPPORT),
	)
	program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_SOCKET, SkipTrue: uint8(len(family))})
	return append(append(program, family...), allow)
}

// Install permanently installs the filter on the calling thread and the processes
// that it starts. The kernel requires no_new_privs on the thread first.
func Install() error {
	architecture, ok := architectures[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("filter system calls: their numbers on %s are unknown", runtime.GOARCH)
	}
	raw, err := bpf.Assemble(filter(architecture))
	if err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	filters := make([]unix.SockFilter, len(raw))
	for i, instruction := range raw {
		filters[i] = unix.SockFilter{Code: instruction.Op, Jt: instruction.Jt, Jf: instruction.Jf, K: instruction.K}
	}
	program := unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]}
	if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	runtime.KeepAlive(filters)
	return nil
}
