//go:build !linux

package sandbox

import (
	"errors"
	"syscall"
)

// Check tells what keeps this process from giving commands namespaces of their own.
func Check() error { return check() }

var check = func() error { return errors.New("only Linux has namespaces") }

// Supported tells what keeps a user of this system from confining commands.
func Supported() error { return Check() }

// checkLandlock tells why commands cannot be held to granted files.
func checkLandlock() error { return errors.New("only Linux confines commands") }

// UserNamespace does nothing where no process confines commands.
func UserNamespace(*syscall.SysProcAttr) {}

func onThread(f func()) { go f() }

func (Limits) apply(int) error { return nil }

func (*Cell) hold(uint64) {}

// live starts the command and waits for its end.
func (c *Cell) live(_ Confinement, started chan<- error) {
	dieWithParent(c.cmd)
	err := c.begin()
	started <- err
	if err == nil {
		c.err = c.finish()
		close(c.ended)
	}
}
