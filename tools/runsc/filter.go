package main

import (
	"os"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/seccomp"
)

// calls are the system calls that this process may make after its preparation: those of Go's runtime, those of the
// protocol with the sandbox, and those on files. Upstream's list lacks the call that writes records, and cannot be
// extended.
var calls = []uintptr{
	// Go's runtime
	unix.SYS_CLOCK_GETTIME, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_EXIT,
	unix.SYS_EXIT_GROUP, unix.SYS_FUTEX, unix.SYS_GETPID, unix.SYS_GETRANDOM, unix.SYS_GETTID, unix.SYS_GETTIMEOFDAY,
	unix.SYS_MADVISE, unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_MUNMAP, unix.SYS_NANOSLEEP, unix.SYS_RESTART_SYSCALL,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SCHED_GETAFFINITY,
	unix.SYS_SCHED_YIELD, unix.SYS_SIGALTSTACK,
	// the protocol
	unix.SYS_CLOSE, unix.SYS_DUP, unix.SYS_FCNTL, unix.SYS_MEMFD_CREATE, unix.SYS_PPOLL, unix.SYS_READ, unix.SYS_RECVMSG,
	unix.SYS_SENDMSG, unix.SYS_SHUTDOWN, unix.SYS_WRITE,
	// files
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHOWNAT, unix.SYS_FGETXATTR, unix.SYS_FSETXATTR, unix.SYS_FSTAT,
	unix.SYS_FSTATFS, unix.SYS_FSYNC, unix.SYS_FTRUNCATE, unix.SYS_GETDENTS64, unix.SYS_LGETXATTR, unix.SYS_LSEEK,
	unix.SYS_MKDIRAT, unix.SYS_MKNODAT, unix.SYS_OPENAT, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_READLINKAT,
	unix.SYS_RENAMEAT, unix.SYS_SYMLINKAT, unix.SYS_UNLINKAT, unix.SYS_UTIMENSAT, statAt,
}

// threads are the flags with which Go's runtime starts a thread. No other clone is allowed: it could start a process.
const threads = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM | unix.CLONE_THREAD

// restrict ends the process at any other system call from now on.
func restrict() error {
	rules := map[uintptr]seccomp.SyscallRule{
		unix.SYS_CLONE:     seccomp.PerArg{seccomp.MaskedEqual(^uintptr(unix.CLONE_SETTLS), threads)},
		unix.SYS_FALLOCATE: seccomp.PerArg{seccomp.AnyValue{}, seccomp.EqualTo(0)},
		unix.SYS_LINKAT: seccomp.PerArg{
			seccomp.NonNegativeFD{}, seccomp.AnyValue{}, seccomp.NonNegativeFD{}, seccomp.AnyValue{},
			seccomp.BitsAllowlist(unix.AT_SYMLINK_FOLLOW),
		},
		unix.SYS_PRCTL: seccomp.PerArg{seccomp.EqualTo(unix.PR_SET_VMA), seccomp.EqualTo(unix.PR_SET_VMA_ANON_NAME)},
		unix.SYS_SOCKETPAIR: seccomp.PerArg{
			seccomp.EqualTo(unix.AF_UNIX), seccomp.EqualTo(unix.SOCK_SEQPACKET | unix.SOCK_CLOEXEC), seccomp.EqualTo(0),
		},
		unix.SYS_TGKILL: seccomp.PerArg{seccomp.EqualTo(uintptr(os.Getpid()))},
	}
	for _, call := range calls {
		rules[call] = seccomp.MatchAll{}
	}
	program := &seccomp.Program{RuleSets: []seccomp.RuleSet{
		{Rules: seccomp.DenyNewExecMappings},
		{Rules: seccomp.MakeSyscallRules(rules), Action: seccomp.Allow},
	}}
	return program.Install()
}
