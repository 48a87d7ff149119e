package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

const (
	// stopTimeout is how long pulumi may take to stop in good order.
	stopTimeout = 60 * time.Second

	// tailSize is how much of pulumi's output is kept.
	tailSize = 16 << 10

	exitStackMissing = 6
)

// pulumi runs one pulumi command on the stack and returns the end of its output.
func (r *run) pulumi(ctx context.Context, stdin []byte, args ...string) (string, error) {
	path, err := lookPath("pulumi", value(r.env, "PATH"))
	if err != nil {
		return "", err
	}
	name := args[0]
	if name != "stack" {
		args = append([]string{name, "--stack", r.Stack}, args[1:]...)
	}
	args = append([]string{"--non-interactive"}, args...)

	out := &tail{}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.dir, r.env, bytes.NewReader(stdin)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTimeout
	dieWithParent(cmd)

	err = r.start(cmd)
	log := r.mask.apply(out.String())
	if err == nil {
		return log, nil
	}
	failure := &Error{Operation: r.Operation, Stack: r.Stack, Log: log}
	failure.classify(ctx, err)
	return log, failure
}

// start runs a command, confined where that can be.
func (r *run) start(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	go func() {
		// A child inherits the confinement of the thread that starts it, and dies with
		// it. The thread is never unlocked: it ends with this function, confined for good.
		runtime.LockOSThread()
		if CanConfine() == nil {
			if err := confine(r.grants()); err != nil {
				done <- fmt.Errorf("confine the run: %w", err)
				return
			}
		}
		done <- cmd.Run()
	}()
	return <-done
}

// lookPath finds a command on the given path. A relative entry is left out: it
// would be looked up in the run's folder.
func lookPath(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("command %s not found: the engine's PATH (%q) has none", name, path)
}

// tail keeps the end of what is written to it.
type tail struct{ data []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if over := len(t.data) - tailSize; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.data) }

func exitError(err error) *exec.ExitError {
	var exit *exec.ExitError
	errors.As(err, &exit)
	return exit
}
