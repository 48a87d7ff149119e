package owners

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// stageVariable selects what the test binary does instead of tests.
const stageVariable = "STRATA_OWNERS_STAGE"

const (
	stageUser   = "user"   // an ordinary user starts stageInside in a user namespace with one ID
	stageInside = "inside" // the first process of the namespaces runs commands
)

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(stageVariable) {
	case stageUser:
		err = enter()
	case stageInside:
		err = runInside()
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A command is one call of runsc, and its result.
type command struct {
	Args   []string
	Code   int
	Output string // of a command that hands it to a container: what the container has printed until its end
}

const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC

// run runs the commands one after the other in namespaces of their own, whose end ends everything in them: as root, or as
// an ordinary user who is root in a user namespace with a single ID. binary is a copy of the test binary.
func run(t testing.TB, binary string, user *syscall.Credential, commands []command) []command {
	t.Helper()
	input, err := json.Marshal(commands)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = append(os.Environ(), stageVariable+"="+stageInside)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL}
	if user != nil {
		cmd.Env = append(os.Environ(), stageVariable+"="+stageUser)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user, Pdeathsig: syscall.SIGKILL}
	}
	var out, problems bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &problems
	// The kernel kills the process when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		t.Fatalf("run %d commands in namespaces: %v: %s", len(commands), err, problems.String())
	}
	var results []command
	if err := json.Unmarshal(out.Bytes(), &results); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return results
}

// enter starts this program again in namespaces of its own, as root of a user namespace with one ID.
func enter() error {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), stageVariable+"="+stageInside)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  namespaces | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	runtime.LockOSThread()
	return cmd.Run()
}

// runInside runs the commands from standard input and prints their results. It is the first process of its namespace, so
// it also waits for the processes that runsc leaves to it.
func runInside() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	var commands []command
	if err := json.NewDecoder(os.Stdin).Decode(&commands); err != nil {
		return err
	}
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	outputs := make([]bytes.Buffer, len(commands))
	var readers sync.WaitGroup
	for i := range commands {
		c := &commands[i]
		out, in, err := os.Pipe()
		if err != nil {
			return err
		}
		readers.Go(func() { _, _ = io.Copy(&outputs[i], out) })
		files := []uintptr{nothing.Fd(), in.Fd(), in.Fd()}
		pid, err := syscall.ForkExec(c.Args[0], c.Args, &syscall.ProcAttr{Env: os.Environ(), Files: files})
		if err != nil {
			return fmt.Errorf("%q: %w", c.Args, err)
		}
		if err := in.Close(); err != nil {
			return err
		}
		if c.Code, err = reap(pid); err != nil {
			return err
		}
	}
	readers.Wait()
	for i := range commands {
		commands[i].Output = outputs[i].String()
	}
	return json.NewEncoder(os.Stdout).Encode(commands)
}

// reap waits for child processes until one has ended, and returns its exit status.
func reap(pid int) (int, error) {
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if ended == pid {
			return status.ExitStatus(), nil
		}
	}
}
