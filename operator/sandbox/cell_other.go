//go:build !linux

package sandbox

import (
	"errors"
	"syscall"

	"github.com/strata-platform/strata/operator/sandbox/processes"
)

// Check returns an error that says why this process cannot give commands their own
// namespaces.
func Check() error { return check() }

var check = func() error { return errors.New("only Linux has namespaces") }

// Supported returns an error that says why a user of this system cannot confine
// commands.
func Supported() error { return Check() }

// checkLandlock returns an error that says why Landlock cannot confine commands.
func checkLandlock() error { return errors.New("only Linux confines commands") }

// Enter does nothing, because only Linux confines commands.
func Enter() (code int, ran bool, err error) { return 0, false, nil }

// UserNamespace does nothing, because only Linux confines commands.
func UserNamespace(*syscall.SysProcAttr) {}

func onThread(f func()) { go f() }

func (Limits) apply(int) error { return nil }

func (*Cell) hold(uint64) {}

func (*Cell) boundProcesses(uint64) error { return nil }

// live starts the command and waits until it ends.
func (c *Cell) live(_ Confinement, started chan<- error) {
	processes.DieWithParent(c.cmd)
	err := c.begin()
	started <- err
	if err == nil {
		c.err = c.finish()
		close(c.ended)
	}
}
