// Package terminaltest gives tests a terminal.
package terminaltest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Open returns both ends of a new terminal of 24 lines and 40 columns: programs write to inner, and outer reads what they
// write. It skips the test on a machine without terminals.
func Open(t testing.TB) (outer, inner *os.File) {
	t.Helper()
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	t.Cleanup(func() { outer.Close() })
	fd := int(outer.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 40})
	}
	if err == nil {
		inner, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { inner.Close() })
	return outer, inner
}

// Run runs a command in the foreground of a new terminal, which never answers, and returns each byte that the command
// writes, and its error.
func Run(t testing.TB, command *exec.Cmd) ([]byte, error) {
	t.Helper()
	outer, inner := Open(t)
	command.Stdin, command.Stdout, command.Stderr = inner, inner, inner
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	inner.Close()
	written := make(chan []byte, 1)
	go func() {
		// The read ends with an error once no process has the inner end open.
		var all bytes.Buffer
		_, _ = all.ReadFrom(outer)
		written <- all.Bytes()
	}()
	err := command.Wait()
	return <-written, err
}
