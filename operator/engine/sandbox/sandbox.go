// Package sandbox runs a command that may use no files but those granted, and that
// leaves no process behind.
package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// drainTimeout is how long output may still come after the last process is gone.
const drainTimeout = 5 * time.Second

// Command is a command to run.
type Command struct {
	// Path is the executable, Args its arguments without its name.
	Path string
	Args []string

	// Dir is the folder it starts in. Env is its environment, of which HOME is
	// required: what the command leaves running is found by it first, so no other
	// command may have the same.
	Dir string
	Env []string

	// Stdin is what it reads, Output takes what it prints.
	Stdin  []byte
	Output io.Writer

	// Grants are the files that it may use, wherever [CanConfine] is able to.
	Grants []Grant

	// StopTimeout is how long it may take to stop in good order once it is asked to.
	StopTimeout time.Duration
}

// Run runs the command and returns when it, and all that it started, have ended.
// When ctx ends it interrupts the command, and after StopTimeout kills it. The
// error is an [*exec.ExitError] when the command ran and failed.
//
// On Linux the command does not outlive this process, which adopts what the command
// leaves behind. A process that is itself unable to gain privileges must start no
// others but by Run: they could not be told from what commands left, and are killed.
func (c Command) Run(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	home := Value(c.Env, "HOME")
	if !filepath.IsAbs(home) {
		return errors.New("a command needs a HOME of its own: what it leaves running is found by it")
	}
	// With a pipe of our own the command's end is seen even while others that it
	// started hold the pipe open.
	output, input, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	defer output.Close()
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, input, input
	cmd.WaitDelay = drainTimeout
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	dieWithParent(cmd)

	ended, err := c.start(cmd)
	input.Close()
	if err != nil {
		return err
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(c.Output, output) // Its end is that of the pipe, in whatever way.
	}()
	err = c.wait(ctx, cmd, ended)
	err = errors.Join(err, Kill(home), killOrphans())
	select {
	case <-drained:
	case <-time.After(drainTimeout):
		output.Close()
		<-drained
	}
	return err
}

// start starts a command, confined where that can be. What becomes of it comes
// through the channel.
func (c Command) start(cmd *exec.Cmd) (ended <-chan error, err error) {
	started, result := make(chan error, 1), make(chan error, 1)
	go func() {
		// A child inherits the confinement of the thread that starts it, and dies with
		// it. The thread is never unlocked: it ends with this function, confined for good.
		runtime.LockOSThread()
		err := mark()
		if err == nil && CanConfine() == nil {
			err = confine(c.Grants)
		}
		if err != nil {
			started <- fmt.Errorf("confine the run: %w", err)
			return
		}
		err = begin(cmd)
		started <- err
		if err == nil {
			result <- finish(cmd)
		}
	}()
	return result, <-started
}

// wait waits for the command's end, which it brings about when ctx ends.
func (c Command) wait(ctx context.Context, cmd *exec.Cmd, ended <-chan error) error {
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	// That it has ended by now is no failure.
	_ = cmd.Process.Signal(os.Interrupt)
	select {
	case err := <-ended:
		return err
	case <-time.After(c.StopTimeout):
	}
	_ = cmd.Process.Kill()
	return <-ended
}
