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

	"github.com/strata-platform/strata/internal/local/logfile"
	"github.com/strata-platform/strata/operator/engine/sandbox"
)

// Spec says how to start one program.
type Spec struct {
	// Name is what messages and the status call the program, for example "etcd".
	Name string
	// Path is the executable.
	Path string
	// Argv0 is what the process list shows in place of Path; empty means Path. Strata puts the home's path into it
	// where the other arguments do not carry it, so that every process can be traced to its home.
	Argv0 string
	// Args are the arguments after the program's name.
	Args []string
	// Env is the whole environment; nothing is inherited.
	Env []string
	// Dir is the working folder.
	Dir string
	// Confinement says what the program may use; nil means all that this process may.
	Confinement *sandbox.Confinement
	// Log is the path of the log that standard output and standard error are appended to.
	Log string
	// Stamps makes each line of the log begin with the time at which it was written.
	Stamps bool
}

// Process is a started program. It is a group leader: Stop reaches its children too.
type Process struct {
	name    string
	cmd     *exec.Cmd
	cell    *sandbox.Cell // nil where the program is not confined
	began   time.Time
	log     string
	essence string // of its output, once it has ended
	done    chan struct{}
	err     error
	// stopped tells a death that was asked for from one that was not.
	stopped atomic.Bool
}

// drainTimeout is how long a process that was left behind, outside of the program's group, may hold the program's
// output open.
const drainTimeout = 5 * time.Second

// Start starts the program. On Linux the kernel ends it when the calling process ends, even by kill -9.
func Start(spec Spec) (*Process, error) {
	log, err := logfile.Open(spec.Log, spec.Stamps)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	// The program writes to a pipe, so that its log can change files while it runs.
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
		// What the program itself started must not stay behind when it dies.
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

func (p *Process) wait() error {
	if p.cell != nil {
		return p.cell.Wait()
	}
	return p.cmd.Wait()
}

func (p *Process) signal(signal syscall.Signal) error {
	if p.cell != nil {
		return p.cell.Signal(signal)
	}
	return p.cmd.Process.Signal(signal)
}

// Dial connects to an address in the program's network, from the given local address unless that is empty.
func (p *Process) Dial(ctx context.Context, local, address string) (net.Conn, error) {
	return p.cell.Dial(ctx, local, address)
}

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Pid is the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// ExitCode is the program's exit code or, where a signal ended it, 128 and the signal's number, as shells and container
// runtimes count. It is valid once Done is closed.
func (p *Process) ExitCode() int {
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// Signal is the number of the signal that ended the program, or 0. It is valid once Done is closed.
func (p *Process) Signal() int {
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !status.Signaled() {
		return 0
	}
	return int(status.Signal())
}

// ExitError says why a program that was not asked to stop has ended, with the essence of what it wrote. It is nil while
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
	// Of kill -9 the program knew nothing.
	if killed := p.ExitCode() == 128+int(syscall.SIGKILL); p.essence != "" && !killed {
		return fmt.Errorf("%s ended (%s): %s", p.name, why, p.essence)
	}
	return fmt.Errorf("%s ended (%s); see %s", p.name, why, p.log)
}

// Stop asks the program to end with SIGTERM and ends it with SIGKILL after grace. It returns when the program is gone.
func (p *Process) Stop(grace time.Duration) {
	p.stopped.Store(true)
	_ = p.signal(syscall.SIGTERM) // It may have ended.
	select {
	case <-p.done:
		return
	case <-time.After(grace):
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
}
