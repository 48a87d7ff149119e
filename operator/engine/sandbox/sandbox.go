// Package sandbox starts commands that see no files, no processes and no network but
// those granted, and that leave no process behind.
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
	"syscall"
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

	// ExtraFiles are further files that it inherits, from descriptor 3 on.
	ExtraFiles []*os.File

	// Confinement says what it may use.
	Confinement

	// Started is called with the command's cell once it has started, if it is set.
	Started func(*Cell)

	// StopTimeout is how long it may take to stop in good order once it is asked to.
	StopTimeout time.Duration
}

// Run runs the command and returns when it, and all that it started, have ended.
// When ctx ends it interrupts the command, and after StopTimeout kills it. The
// error holds an [*exec.ExitError] when the command ran and failed, and [ErrProcesses]
// when it had too many processes.
//
// On Linux the command does not outlive this process. Where [Check] fails, this process
// adopts what the command leaves behind, and looks for it by its mark. A process that is
// itself unable to gain privileges must then start no others but by Run: they could not
// be told from what commands left, and are killed.
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
	cmd.ExtraFiles = c.ExtraFiles

	cell, err := start(cmd, c.Confinement, true)
	input.Close()
	if err != nil {
		return err
	}
	if c.Started != nil {
		c.Started(cell)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(c.Output, output) // Its end is that of the pipe, in whatever way.
	}()
	err = c.wait(ctx, cell)
	if !cell.isolated {
		err = errors.Join(err, Kill(home), killOrphans())
	}
	select {
	case <-drained:
	case <-time.After(drainTimeout):
		output.Close()
		<-drained
	}
	return err
}

// wait waits for the command's end, which it brings about when ctx ends.
func (c Command) wait(ctx context.Context, cell *Cell) error {
	select {
	case <-cell.Done():
		return cell.Wait()
	case <-ctx.Done():
	}
	// That it has ended by now is no failure.
	_ = cell.Signal(syscall.SIGINT)
	select {
	case <-cell.Done():
	case <-time.After(c.StopTimeout):
		_ = cell.Signal(syscall.SIGKILL)
	}
	return cell.Wait()
}
