package sandboxtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/strata-platform/strata/operator/sandbox"
)

// variable is set in the environment of a test binary that runs in a user namespace.
const variable = "STRATA_TEST_NAMESPACE"

// Enter returns if the test binary can confine commands, or if a user namespace would
// not help. Otherwise Enter runs the same binary in a user namespace, as an ordinary
// user must, and exits with that binary's code. TestMain calls Enter before it starts
// anything.
func Enter() {
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	sandbox.UserNamespace(attributes)
	if attributes.Cloneflags == 0 || os.Getenv(variable) != "" {
		return
	}
	runtime.LockOSThread() // The kernel kills a child when the thread that started it ends.
	command := exec.Command(os.Args[0], os.Args[1:]...)
	command.Env = append(os.Environ(), variable+"=1")
	command.Stdin, command.Stdout, command.Stderr, command.SysProcAttr = os.Stdin, os.Stdout, os.Stderr, attributes
	err := command.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(failed.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "run the tests in a user namespace:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
