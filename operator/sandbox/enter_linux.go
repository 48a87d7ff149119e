package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

// enteredVariable is set in the environment of a program that Enter has started.
const enteredVariable = "STRATA_USER_NAMESPACE"

// Enter runs this program again in a user namespace if only there it can confine commands, as an ordinary user must. It
// passes the signals that end a program on, waits, and returns the program's exit code and true. It returns false if this
// program can already confine commands, or if a user namespace would not help. A main function calls Enter before it starts
// anything.
func Enter() (code int, ran bool, err error) {
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	UserNamespace(attributes)
	if attributes.Cloneflags == 0 || os.Getenv(enteredVariable) != "" {
		return 0, false, nil
	}
	runtime.LockOSThread() // The kernel kills a child when the thread that started it ends.
	command := exec.Command("/proc/self/exe", os.Args[1:]...)
	command.Args[0] = os.Args[0]
	command.Env = append(os.Environ(), enteredVariable+"=1")
	command.Stdin, command.Stdout, command.Stderr, command.SysProcAttr = os.Stdin, os.Stdout, os.Stderr, attributes
	// The buffer holds a signal that arrives before the start.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := command.Start(); err != nil {
		return 1, true, fmt.Errorf("start %s in a user namespace: %w", os.Args[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for {
		select {
		case received := <-signals:
			_ = command.Process.Signal(received) // It has just ended.
		case err := <-ended:
			if failed, ok := errors.AsType[*exec.ExitError](err); ok {
				return max(failed.ExitCode(), 1), true, nil
			}
			if err != nil {
				return 1, true, fmt.Errorf("run %s in a user namespace: %w", os.Args[0], err)
			}
			return 0, true, nil
		}
	}
}
