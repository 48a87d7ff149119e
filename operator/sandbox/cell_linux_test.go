package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/strata-platform/strata/operator/sandbox"
)

// needNamespaces skips a test if namespaces are not available. Continuous integration
// must have them.
func needNamespaces(t *testing.T) {
	t.Helper()
	if err := sandbox.Check(); err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
}

// attempt returns a command that makes an attempt in its own folder.
func attempt(t *testing.T, name string, args ...string) (c sandbox.Command, output *bytes.Buffer) {
	t.Helper()
	c, home, output := shell(t, "")
	c.Path, c.Args = os.Args[0], args
	c.Env = append(c.Env, attemptVariable+"="+name)
	c.Grants = append(sandbox.Grants("/usr/bin:/bin", home), sandbox.Grant{Path: os.Args[0]})
	c.Network = &sandbox.Network{}
	return c, output
}

// refuses runs an attempt and expects the kernel to refuse it.
func refuses(t *testing.T, name string, args ...string) {
	t.Helper()
	command, output := attempt(t, name, args...)
	if err := command.Run(t.Context()); err == nil || !strings.Contains(output.String(), "refused: ") {
		t.Errorf("%s %q: %v, output %q, want a refusal", name, args, err, output)
	}
}

// canary creates a file outside the command's folder, such as another team's state.
func canary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCommandRunsInItsCell(t *testing.T) {
	needNamespaces(t)
	command, output := attempt(t, "nothing")
	if err := command.Run(t.Context()); err != nil || !strings.Contains(output.String(), "done") {
		t.Fatalf("%v: %s", err, output)
	}
}

func TestCommandReachesNoFileButItsOwn(t *testing.T) {
	needNamespaces(t)
	secret := canary(t)
	before, err := os.Stat(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"read", "write", "chmod", "chown", "utime", "setxattr", "lock", "truncate"} {
		refuses(t, name, secret)
		// Not even root can change the files that all commands share.
		if name != "read" && name != "lock" {
			for _, file := range []string{"/usr/bin/env", "/etc/passwd", "/dev/null", "/usr", "/"} {
				if name == "write" && file == "/dev/null" || name == "truncate" && file == "/dev/null" {
					continue
				}
				refuses(t, name, file)
			}
		}
	}
	for _, dir := range []string{filepath.Dir(secret), "/root", "/home", "/var", "/run", "/tmp", "/sys", "/proc/1", "/dev/shm"} {
		refuses(t, "list", dir)
	}
	command, output := attempt(t, "execute")
	command.Args = []string{filepath.Join(command.Dir, "tool")}
	if err := command.Run(t.Context()); err == nil || !strings.Contains(output.String(), "refused: permission denied") {
		t.Errorf("a program of its own: %v: %s", err, output)
	}
	after, err := os.Stat(secret)
	if err != nil || after.Mode() != before.Mode() || after.ModTime() != before.ModTime() || after.Size() != before.Size() {
		t.Errorf("the canary changed from %v to %v (%v)", before, after, err)
	}
}

func TestCommandCannotLinkOutOfItsFolder(t *testing.T) {
	needNamespaces(t)
	secret := canary(t)
	command, output := attempt(t, "read")
	if err := os.Symlink(secret, filepath.Join(command.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	command.Args = []string{"link"}
	if err := command.Run(t.Context()); err == nil || strings.Contains(output.String(), "canary") {
		t.Errorf("%v: %s", err, output)
	}
	refuses(t, "link", secret, "hard")
	refuses(t, "link", "/etc/passwd", "hard")
}

func TestCommandReachesNoOtherProcess(t *testing.T) {
	needNamespaces(t)
	self := strconv.Itoa(os.Getpid())
	for _, name := range []string{"kill", "renice", "affinity", "prlimit", "environ", "trace"} {
		refuses(t, name, self)
	}
	refuses(t, "killall")
}

func TestCommandReachesNothingThatAllProcessesShare(t *testing.T) {
	needNamespaces(t)
	id, err := unix.SysvShmGet(0x57a7a, 4096, unix.IPC_CREAT|0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) }()
	refuses(t, "shared memory", strconv.Itoa(0x57a7a))
	for _, name := range []string{
		"namespace", "child namespace", "remount", "unmount", "chroot", "key", "session keys", "machine socket",
		"raw socket", "crypto socket", "ring", "sysctl", "capability",
	} {
		refuses(t, name)
	}
	refuses(t, "mount", "/usr")
	refuses(t, "device", "memory")
}

func TestCommandReachesItsEndpointsOnly(t *testing.T) {
	needNamespaces(t)
	service := greeter(t, "tcp", "127.0.0.1:0", "from the service")
	other := greeter(t, "tcp", "127.0.0.1:0", "from another")
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	abstract := "@strata-" + strconv.Itoa(os.Getpid())
	greeter(t, "unix", abstract, "from a socket")
	file := greeter(t, "unix", filepath.Join(t.TempDir(), "socket"), "from a socket")

	refuses(t, "dial", service)
	refuses(t, "dial", other)
	refuses(t, "dial", "[::1]:1")
	refuses(t, "dial", "192.0.2.1:80")
	refuses(t, "dial", "169.254.169.254:80")
	refuses(t, "send", udp.LocalAddr().String())
	refuses(t, "dial unix", abstract)
	refuses(t, "dial unix", file)

	forward := sandbox.Forward(func(context.Context) (net.Conn, error) { return net.Dial("tcp", service) })
	for name, endpoint := range map[string]sandbox.Endpoint{
		"at its own address": {Address: service},
		"at another":         {Address: "127.1.2.3:3306", Serve: forward},
		"of a cluster":       {Address: "10.96.0.1:443", Serve: forward},
		"by its name":        {Address: "127.0.0.2:443", Name: "git.example.com", Serve: forward},
	} {
		t.Run(name, func(t *testing.T) {
			command, output := attempt(t, "dial", endpoint.Address)
			command.Network.Endpoints = []sandbox.Endpoint{endpoint}
			if endpoint.Name != "" {
				command.Args = []string{endpoint.Name + ":443"}
			}
			if err := command.Run(t.Context()); err != nil || !strings.Contains(output.String(), "from the service") {
				t.Errorf("%v: %s", err, output)
			}
			if conn, err := net.Dial("tcp", "127.1.2.3:3306"); err == nil {
				conn.Close()
				t.Error("the endpoint can be reached from outside")
			}
		})
	}
	for _, address := range []string{"[2001:db8::1]:80", "0.0.0.0:80", "224.0.0.1:80", "localhost:80", "127.0.0.1"} {
		command, _ := attempt(t, "nothing")
		command.Network.Endpoints = []sandbox.Endpoint{{Address: address}}
		if err := command.Run(t.Context()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("endpoint %q", address)) {
			t.Errorf("endpoint %s: %v", address, err)
		}
	}
}

// greeter listens on an address and sends a word to each client.
func greeter(t *testing.T, network, address, word string) string {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, word)
			conn.Close()
		}
	}()
	return listener.Addr().String()
}

func TestLimitsHold(t *testing.T) {
	needNamespaces(t)
	for name, c := range map[string]struct {
		attempt string
		args    []string
		limits  sandbox.Limits
	}{
		"size of a file": {"grow", []string{"file", "2097152"}, sandbox.Limits{FileSize: 1 << 20}},
		"memory":         {"allocate", []string{"4294967296"}, sandbox.Limits{Memory: 2 << 30}},
	} {
		t.Run(name, func(t *testing.T) {
			command, output := attempt(t, c.attempt, c.args...)
			if err := command.Run(t.Context()); err != nil {
				t.Fatalf("without a limit: %v: %s", err, output)
			}
			command, output = attempt(t, c.attempt, append(c.args, "limited")...)
			command.Limits = c.limits
			if err := command.Run(t.Context()); err == nil || !strings.Contains(output.String(), "refused: ") {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
}

func TestCommandWithTooManyProcessesEnds(t *testing.T) {
	needNamespaces(t)
	command, output := attempt(t, "multiply", "50", "1")
	command.Limits.Processes = 1000
	if err := command.Run(t.Context()); err != nil || !strings.Contains(output.String(), "all run") {
		t.Errorf("some processes: %v: %s", err, output)
	}
	command, output = attempt(t, "multiply", "200", "600")
	command.Limits.Processes = 100
	began := time.Now()
	if err := command.Run(t.Context()); !errors.Is(err, sandbox.ErrProcesses) || time.Since(began) > time.Minute {
		t.Errorf("too many processes: %v after %v: %s", err, time.Since(began), output)
	}
}

func TestKernelRefusesProcessesBeyondTheLimit(t *testing.T) {
	needNamespaces(t)
	if !sandbox.PIDMaxPerNamespace() {
		t.Skip("before Linux 6.14, a count alone limits a command's processes")
	}
	sandbox.WithoutCounts(t)
	machine := pidMax(t)
	command, output := attempt(t, "multiply", "1000", "600")
	command.Limits.Processes = 500
	if err := command.Run(t.Context()); err == nil || !strings.Contains(output.String(), syscall.EAGAIN.Error()) {
		t.Errorf("%v: %s", err, output)
	}
	if now := pidMax(t); now != machine {
		t.Errorf("the machine's pid_max has become %s", now)
	}
}

// pidMax returns the greatest process ID of this process's PID namespace.
func pidMax(t *testing.T) string {
	t.Helper()
	value, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil {
		t.Fatal(err)
	}
	return string(value)
}

func TestCallerStaysOutsideOfTheCell(t *testing.T) {
	needNamespaces(t)
	command, _ := attempt(t, "nothing")
	if err := command.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	// After the cell is gone, every thread of the caller is in the caller's mount and network namespaces.
	var strange []string
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); ; <-tick.C {
		if strange = threadsElsewhere(t); len(strange) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("threads are elsewhere: %s", strange)
		}
	}
}

// threadsElsewhere returns the threads of this process that are not in its namespaces.
func threadsElsewhere(t *testing.T) (strange []string) {
	t.Helper()
	threads, err := filepath.Glob("/proc/self/task/*/ns")
	if err != nil || len(threads) == 0 {
		t.Fatal(threads, err)
	}
	for _, thread := range threads {
		for _, kind := range []string{"mnt", "net", "pid"} {
			own, err := os.Readlink(filepath.Join("/proc/self/ns", kind))
			if err != nil {
				t.Fatal(err)
			}
			// The thread may have ended.
			if other, err := os.Readlink(filepath.Join(thread, kind)); err == nil && other != own {
				strange = append(strange, fmt.Sprintf("%s is in %s, not in %s", thread, other, own))
			}
		}
	}
	return strange
}
