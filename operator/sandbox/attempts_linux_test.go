package sandbox_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attempts maps names to the attempts of a hostile command. An attempt returns the
// kernel's refusal as an error.
var attempts = map[string]func(args []string) error{
	"nothing": func([]string) error { return nil },
	"read": func(args []string) error {
		data, err := os.ReadFile(args[0])
		fmt.Printf("%s\n", data)
		return err
	},
	"write": func(args []string) error { return os.WriteFile(args[0], []byte("changed"), 0o600) },
	"list": func(args []string) error {
		_, err := os.ReadDir(args[0])
		return err
	},
	"chmod": func(args []string) error { return os.Chmod(args[0], 0o777) },
	"chown": func(args []string) error { return os.Chown(args[0], os.Getuid(), os.Getgid()) },
	"utime": func(args []string) error { return os.Chtimes(args[0], time.Unix(1, 0), time.Unix(1, 0)) },
	"setxattr": func(args []string) error {
		return unix.Setxattr(args[0], "user.strata", []byte("1"), 0)
	},
	"lock": func(args []string) error {
		file, err := os.Open(args[0])
		if err != nil {
			return err
		}
		return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	},
	"truncate": func(args []string) error { return os.Truncate(args[0], 0) },
	"link":     func(args []string) error { return os.Link(args[0], args[1]) },
	"execute": func(args []string) error {
		if err := os.WriteFile(args[0], []byte("#!/bin/sh\n"), 0o700); err != nil {
			return err
		}
		return syscall.Exec(args[0], args[:1], nil)
	},
	"kill":     func(args []string) error { return unix.Kill(number(args[0]), 0) },
	"killall":  func([]string) error { return unix.Kill(-1, 0) },
	"renice":   func(args []string) error { return unix.Setpriority(unix.PRIO_PROCESS, number(args[0]), 19) },
	"affinity": func(args []string) error { return unix.SchedSetaffinity(number(args[0]), &unix.CPUSet{1}) },
	"prlimit": func(args []string) error {
		return unix.Prlimit(number(args[0]), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: 1}, nil)
	},
	"environ": func(args []string) error {
		_, err := os.ReadFile("/proc/" + args[0] + "/environ")
		return err
	},
	"dial": func(args []string) error {
		conn, err := net.DialTimeout("tcp", args[0], time.Second)
		if err != nil {
			return err
		}
		data, err := io.ReadAll(conn)
		fmt.Printf("%s\n", data)
		return err
	},
	"dial unix": func(args []string) error {
		_, err := net.Dial("unix", args[0])
		return err
	},
	"send": func(args []string) error {
		// The kernel reports a rejected datagram with the next call.
		conn, err := net.Dial("udp", args[0])
		if err != nil {
			return err
		}
		if _, err := conn.Write([]byte("x")); err != nil {
			return err
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		_, err = conn.Read(make([]byte, 1))
		return err
	},
	"namespace": func([]string) error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"child namespace": func([]string) error {
		_, err := os.StartProcess("/bin/true", nil, &os.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNET}})
		return err
	},
	"mount":   func(args []string) error { return unix.Mount("tmpfs", args[0], "tmpfs", 0, "") },
	"remount": func([]string) error { return unix.Mount("", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, "") },
	"unmount": func([]string) error { return unix.Unmount("/usr", unix.MNT_DETACH) },
	"chroot":  func([]string) error { return unix.Chroot("/usr") },
	"key": func([]string) error {
		_, err := unix.AddKey("user", "strata", []byte("x"), unix.KEY_SPEC_SESSION_KEYRING)
		return err
	},
	"session keys": func([]string) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
		return err
	},
	"machine socket": func([]string) error {
		_, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
		return err
	},
	"raw socket": func([]string) error {
		_, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
		return err
	},
	"crypto socket": func([]string) error {
		_, err := unix.Socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)
		return err
	},
	"ring": func([]string) error {
		if _, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0); errno != unix.EFAULT {
			return errno
		}
		return nil
	},
	// multiply starts the given number of waiting processes, and reports when all of them
	// run.
	"multiply": func(args []string) error {
		for range number(args[0]) {
			if err := exec.Command("sleep", "600").Start(); err != nil {
				return err
			}
		}
		fmt.Println("all run")
		return exec.Command("sleep", args[1]).Run()
	},
	"trace": func(args []string) error { return unix.PtraceAttach(number(args[0])) },
	"device": func(args []string) error {
		return unix.Mknod(args[0], unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5)))
	},
	"shared memory": func(args []string) error {
		_, err := unix.SysvShmGet(number(args[0]), 0, 0)
		return err
	},
	"sysctl": func([]string) error { return os.WriteFile("/proc/sys/kernel/core_pattern", []byte("|/bin/true"), 0) },
	"grow": func(args []string) error {
		if len(args) > 2 {
			awaitLimit(unix.RLIMIT_FSIZE)
		}
		// The kernel would kill a process that does not ignore this signal.
		signal.Ignore(unix.SIGXFSZ)
		file, err := os.Create(args[0])
		if err != nil {
			return err
		}
		return unix.Ftruncate(int(file.Fd()), int64(number(args[1])))
	},
	"allocate": func(args []string) error {
		if len(args) > 1 {
			awaitLimit(unix.RLIMIT_DATA)
		}
		_, err := unix.Mmap(-1, 0, number(args[0]), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		return err
	},
	"capability": func([]string) error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		if err := unix.Capget(&header, &data[0]); err != nil {
			return err
		}
		if data[0].Permitted|data[1].Permitted|data[0].Inheritable == 0 {
			return errors.New("it has none")
		}
		return nil
	},
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// awaitLimit waits until this process has a limit, which it gets after its start.
func awaitLimit(resource int) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for limit := (unix.Rlimit{Cur: unix.RLIM_INFINITY}); limit.Cur == unix.RLIM_INFINITY; <-tick.C {
		if err := unix.Getrlimit(resource, &limit); err != nil {
			return
		}
	}
}
