// Package process starts the programs of a home as child processes that never outlive their parent, and keeps them running.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// Spec says how to start one program.
type Spec struct {
	// Name is what messages call the program, for example "etcd".
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
	// Log is the file that standard output and standard error are appended to.
	Log string
}

// Process is a started program. It is a group leader: Stop reaches its children too.
type Process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	err  error
	// stopped tells a death that was asked for from one that was not.
	stopped atomic.Bool
}

// Start starts the program. On Linux the kernel ends it when the calling process ends, even by kill -9.
func Start(spec Spec) (*Process, error) {
	log, err := openLog(spec.Log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	defer log.Close()
	cmd := &exec.Cmd{
		Path:        spec.Path,
		Args:        append([]string{spec.Path}, spec.Args...),
		Env:         spec.Env,
		Dir:         spec.Dir,
		Stdout:      log,
		Stderr:      log,
		SysProcAttr: attributes(),
	}
	if spec.Argv0 != "" {
		cmd.Args[0] = spec.Argv0
	}
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	if err := spawn(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	p := &Process{name: spec.Name, cmd: cmd, log: spec.Log, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		// What the program itself started must not stay behind when it dies.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		close(p.done)
	}()
	return p, nil
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

// ExitError says why a program that was not asked to stop has ended, with the last line of its log. It is nil while
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
	if last := LastLine(p.log); last != "" {
		return fmt.Errorf("%s ended (%s): %s", p.name, why, last)
	}
	return fmt.Errorf("%s ended (%s); see %s", p.name, why, p.log)
}

// Stop asks the program to end with SIGTERM and ends it with SIGKILL after grace. It returns when the program is gone.
func (p *Process) Stop(grace time.Duration) {
	p.stopped.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return
	case <-time.After(grace):
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
}

// maxLog is the size at which a log is put aside, so that a home does not grow for ever. One old file is kept.
const maxLog = 16 << 20

func openLog(path string) (*os.File, error) {
	if path == "" {
		return nil, errors.New("no log file is named")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}
