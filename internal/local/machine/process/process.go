// Package process starts the programs of a home as child processes that never outlive their parent, and keeps them running.
package process

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/logfile"
	"github.com/strata-platform/strata/operator/sandbox"
)

// Spec says how to start one program.
type Spec struct {
	// Name is the program's name in messages and in the status, for example "etcd".
	Name string
	// Path is the executable.
	Path string
	// Argv0 replaces Path in the list of processes. Empty means Path. Callers put the home's path into it unless another
	// argument contains the path, so that a user sees the home of each process.
	Argv0 string
	// Args are the arguments after the program's name.
	Args []string
	// Env is the whole environment. The program inherits nothing.
	Env []string
	// Dir is the working directory.
	Dir string
	// Confinement confines the program. Nil means no confinement.
	Confinement *sandbox.Confinement
	// Log is the path of the log for standard output and standard error.
	Log string
	// Stamps prefixes each line of the log with its time.
	Stamps bool
}

// Process is a started program. It leads a process group, so Stop reaches its children too.
type Process struct {
	name    string
	cmd     *exec.Cmd
	cell    *sandbox.Cell // nil if the program is not confined
	began   time.Time
	log     string
	essence string // of the program's output; set before done closes
	done    chan struct{}
	err     error
	// stopped says that Stop ended the program.
	stopped atomic.Bool
}

// drainTimeout is how long a leftover process outside the program's group may hold the program's output open.
const drainTimeout = 5 * time.Second

// Start starts the program. On Linux the kernel ends it when the calling process ends, even by kill -9.
func Start(spec Spec) (*Process, error) {
	log, err := logfile.Open(spec.Log, spec.Stamps)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	// The program writes to a pipe, so that its log can rotate while it runs.
	output, write, err := os.Pipe()
	if err != nil {
		log.Close()
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	defer write.Close()
	cmd := &exec.Cmd{
		Path:        spec.Path,
		Args:        append([]string{spec.Path}, spec.Args...),
		Env:         spec.Env,
		Dir:         spec.Dir,
		Stdout:      write,
		Stderr:      write,
		SysProcAttr: attributes(),
	}
	if spec.Argv0 != "" {
		cmd.Args[0] = spec.Argv0
	}
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	p := &Process{name: spec.Name, cmd: cmd, began: time.Now(), log: spec.Log, done: make(chan struct{})}
	if spec.Confinement != nil {
		p.cell, err = sandbox.Start(cmd, *spec.Confinement)
	} else {
		err = spawn(cmd)
	}
	if err != nil {
		output.Close()
		log.Close()
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	copied := make(chan struct{})
	end := &tail{}
	go func() {
		defer close(copied)
		log.Copy(io.TeeReader(output, end))
	}()
	go func() {
		p.err = p.wait()
		// The program's children must not survive it.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = output.SetReadDeadline(time.Now().Add(drainTimeout))
		<-copied
		output.Close()
		log.Close()
		p.essence = Essence(end.data)
		close(p.done)
	}()
	return p, nil
}

// wait returns when the program has ended, with the error of os/exec.
func (p *Process) wait() error {
	if p.cell != nil {
		return p.cell.Wait()
	}
	return p.cmd.Wait()
}

// signal sends a signal to the program, through its cell if it is confined.
func (p *Process) signal(signal syscall.Signal) error {
	if p.cell != nil {
		return p.cell.Signal(signal)
	}
	return p.cmd.Process.Signal(signal)
}

// Dial connects to an address in the program's network, from the local address local unless that is empty.
func (p *Process) Dial(ctx context.Context, local, address string) (net.Conn, error) {
	return p.cell.Dial(ctx, local, address)
}

// Done returns a channel that closes when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Pid returns the PID of the program.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// ExitCode returns the program's exit code. If a signal killed the program, that is 128 plus the number of the signal,
// as in shells and container runtimes. The result is valid after Done closes.
func (p *Process) ExitCode() int {
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// Signal returns the number of the signal that killed the program, or 0. The result is valid after Done closes.
func (p *Process) Signal() int {
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() {
		return 0
	}
	return int(status.Signal())
}

// ExitError returns the reason why a program ended without Stop, with the essence of its output. It returns nil while
// the program runs and after Stop.
func (p *Process) ExitError() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	if p.stopped.Load() {
		return nil
	}
	why := "exit status 0"
	if p.err != nil {
		why = p.err.Error()
	}
	// A program that was killed by SIGKILL could not report it, so its output has no reason.
	if killed := p.ExitCode() == 128+int(syscall.SIGKILL); p.essence != "" && !killed {
		return fmt.Errorf("%s ended (%s): %s", p.name, why, p.essence)
	}
	return fmt.Errorf("%s ended (%s); see %s", p.name, why, p.log)
}

// Stop sends SIGTERM to the program, and SIGKILL after grace. It returns when the program is gone.
func (p *Process) Stop(grace time.Duration) {
	p.stopped.Store(true)
	_ = p.signal(syscall.SIGTERM) // The program may have ended.
	select {
	case <-p.done:
		return
	case <-time.After(grace):
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
}
