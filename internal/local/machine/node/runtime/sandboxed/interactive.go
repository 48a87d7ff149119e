package sandboxed

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

var _ runtime.Interactive = (*run)(nil)

// Execute implements runtime.Interactive.
func (r *run) Execute(ctx context.Context, c runtime.Command) (runtime.Exit, error) {
	process := r.command(c.Args, c.Terminal)
	started, err := r.sandbox.Exec(ctx, r.description.ID, process, sandboxes.Streams{Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr})
	if err != nil {
		return runtime.Exit{}, err
	}
	defer context.AfterFunc(ctx, func() { _ = started.Kill(context.WithoutCancel(ctx)) })()
	if c.Terminal {
		go resize(started, c.Sizes)
	}
	exit, err := started.Wait(context.WithoutCancel(ctx))
	if errors.Is(err, sandboxes.ErrGone) {
		exit = spec.Exit{Code: 128 + int(syscall.SIGKILL), Signal: syscall.SIGKILL}
	}
	// Another error is that of a writer: the client knows that its connection broke.
	return runtime.Exit{Code: exit.Code, Signal: int(exit.Signal)}, nil
}

// command describes a command that runs with the container's user, rights and variables.
func (r *run) command(args []string, terminal bool) spec.Process {
	process := r.description.Process
	process.Args, process.Terminal = args, terminal
	if terminal {
		process.Env = withTerm(process.Env)
	}
	return process
}

// withTerm adds the variable TERM, which programs with a terminal need, as container runtimes do.
func withTerm(env []string) []string {
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "TERM=") }) {
		return env
	}
	return append(slices.Clone(env), "TERM=xterm")
}

// resize sets the size of a process's terminal to each size of the client's, until the sizes or the process ends.
func resize(p *sandboxes.Process, sizes <-chan runtime.Size) {
	for {
		select {
		case size, more := <-sizes:
			if !more {
				return
			}
			// A failure means that the process has ended.
			_ = p.Resize(context.Background(), size.Columns, size.Rows)
		case <-p.Done():
			return
		}
	}
}

// Attach implements runtime.Interactive.
func (r *run) Attach(ctx context.Context, s runtime.Streams) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := r.output.join()
	defer r.output.leave(client)
	if s.Stdin != nil && r.input != nil {
		go func() {
			r.input.copy(ctx, s.Stdin)
			if !r.input.once {
				cancel() // The client's input has ended, and the container's stays open, so the client leaves.
			}
		}()
	}
	if r.description.Terminal {
		go resize(r.process, s.Sizes)
	}
	err := r.output.copy(ctx, client, [2]io.Writer{s.Stdout, s.Stderr})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
