// Package sandbox starts commands that can access only the files and network addresses
// granted to them, cannot see other processes, and leave no process behind. The operator runs Pulumi in it, and the
// target local runs its servers, checks of pushes and controllers in it.
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

	"github.com/strata-platform/strata/operator/environ"
	"github.com/strata-platform/strata/operator/sandbox/processes"
)

// drainTimeout bounds how long output may still arrive after the last process has
// ended.
const drainTimeout = 5 * time.Second

// Command is a command to run.
type Command struct {
	// Path is the executable. Args holds its arguments without its name.
	Path string
	Args []string

	// Dir is the working folder. Env is the environment. Env must contain a HOME that no
	// other command has: Run finds the processes that the command leaves running by their
	// HOME.
	Dir string
	Env []string

	// Stdin is the command's standard input. Output receives its standard output and
	// standard error.
	Stdin  []byte
	Output io.Writer

	// ExtraFiles lists additional files that the command inherits, from file descriptor 3
	// on.
	ExtraFiles []*os.File

	// Confinement describes what the command may use.
	Confinement

	// Started, if set, is called with the command's cell after the start.
	Started func(*Cell)

	// StopTimeout is how long the command may take to stop after SIGINT.
	StopTimeout time.Duration
}

// Run runs the command and returns when the command, and every process that it started,
// have ended. When ctx ends, Run interrupts the command, and kills it after
// StopTimeout. The error contains an [*exec.ExitError] if the command ran and failed,
// and [ErrProcesses] if it had too many processes.
//
// On Linux the command does not outlive this process. If [Check] returns an error, this
// process adopts the processes that the command leaves behind, and recognises them by
// their mark, no_new_privs. A process that has no_new_privs itself must then start
// other processes by Run only: Run could not distinguish them from orphans, and would
// kill them.
func (c Command) Run(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	home := environ.Variable(c.Env, "HOME")
	if !filepath.IsAbs(home) {
		return errors.New("a command needs its own HOME as an absolute path: the sandbox finds the processes that the command leaves behind by their HOME")
	}
	// os.Pipe lets Run notice the end of the command even while its children hold the pipe
	// open.
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
		_, _ = io.Copy(c.Output, output) // It ends when the pipe does; an error changes nothing.
	}()
	err = c.wait(ctx, cell)
	if !cell.isolated {
		err = errors.Join(err, processes.Kill(home), processes.KillOrphans())
	}
	select {
	case <-drained:
	case <-time.After(drainTimeout):
		output.Close()
		<-drained
	}
	return err
}

// wait waits until the command ends. When ctx ends, it stops the command.
func (c Command) wait(ctx context.Context, cell *Cell) error {
	select {
	case <-cell.Done():
		return cell.Wait()
	case <-ctx.Done():
	}
	// If the command has ended in the meantime, Signal fails, and the command has not
	// failed.
	_ = cell.Signal(syscall.SIGINT)
	select {
	case <-cell.Done():
	case <-time.After(c.StopTimeout):
		_ = cell.Signal(syscall.SIGKILL)
	}
	return cell.Wait()
}
