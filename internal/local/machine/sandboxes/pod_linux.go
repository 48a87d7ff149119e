package sandboxes

import (
	"context"
	"errors"
	"syscall"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/protocol"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// Pod is a running pod. Its methods return [ErrGone] after its end.
type Pod struct {
	client *client
	id     string
	ended  chan struct{}
}

// Done returns a channel that is closed when the pod has ended: it was removed, its sandbox failed, or the host has ended.
func (p *Pod) Done() <-chan struct{} { return p.ended }

// Start starts a container. If the context ends first, the container is removed. An ended container stays until RemoveContainer.
func (p *Pod) Start(ctx context.Context, container spec.Container, streams Streams) (*Process, error) {
	if err := container.Validate(); err != nil {
		return nil, err
	}
	r := request{
		method: protocol.Start, body: protocol.StartRequest{Pod: p.id, Container: container},
		undo: func() { _ = p.RemoveContainer(context.Background(), container.ID) },
	}
	ref := protocol.ProcessRef{Pod: p.id, Container: container.ID}
	return p.begin(ctx, r, ref, container.Terminal, streams, nil)
}

// Exec starts another process in a running container. It ends with the container. The context does not bound the start, because
// nothing could end a process whose start was not awaited; the helper bounds it to half a minute.
func (p *Pod) Exec(ctx context.Context, container string, process spec.Process, streams Streams) (*Process, error) {
	if err := process.Validate(); err != nil {
		return nil, err
	}
	var result protocol.ExecResult
	ref := protocol.ProcessRef{Pod: p.id, Container: container}
	r := request{method: protocol.Exec, body: protocol.ExecRequest{Pod: p.id, Container: container, Process: process}}
	return p.begin(ctx, r, ref, process.Terminal, streams, &result)
}

// begin starts a process and follows it. result is nil for a container's first process.
func (p *Pod) begin(ctx context.Context, r request, ref protocol.ProcessRef, terminal bool, streams Streams, result *protocol.ExecResult) (*Process, error) {
	pipes, err := newPipes(streams, terminal)
	if err != nil {
		return nil, err
	}
	r.files = pipes.theirs
	var decoded any
	if result != nil {
		decoded = result
		ctx = context.WithoutCancel(ctx)
	}
	files, err := p.client.do(ctx, r, decoded)
	protocol.CloseAll(pipes.theirs)
	if err != nil {
		pipes.close()
		return nil, err
	}
	if result != nil {
		ref.PID = result.PID
	}
	process := &Process{client: p.client, ref: ref, pipes: pipes, ended: make(chan struct{})}
	if terminal && len(files) > 0 {
		pipes.useTerminal(files[0])
		files = files[1:]
	}
	protocol.CloseAll(files)
	go process.follow()
	return process, nil
}

// RemoveContainer kills a container and removes it. It succeeds if the container does not exist.
func (p *Pod) RemoveContainer(ctx context.Context, id string) error {
	return p.client.call(ctx, protocol.RemoveContainer, protocol.ProcessRef{Pod: p.id, Container: id}, nil)
}

// Stats returns the resources that the pod uses now.
func (p *Pod) Stats(ctx context.Context) (spec.Stats, error) {
	var stats spec.Stats
	err := p.client.call(ctx, protocol.PodStats, protocol.PodRef{Pod: p.id}, &stats)
	return stats, err
}

// Remove kills all containers and removes the pod. Its processes have ended when Remove returns nil. Remove succeeds if the pod
// does not exist, even when the host has ended.
func (p *Pod) Remove(ctx context.Context) error {
	err := p.client.call(ctx, protocol.RemovePod, protocol.PodRef{Pod: p.id}, nil)
	var failure *protocol.Failure
	if errors.As(err, &failure) && failure.Gone {
		return nil
	}
	return err
}

// Process is a started process.
type Process struct {
	client *client
	ref    protocol.ProcessRef
	pipes  *pipes

	// ended is closed when the process has ended and its output was copied. The fields below are valid then.
	ended chan struct{}
	exit  spec.Exit
	err   error
}

// follow waits for the end of the process and of its output.
func (p *Process) follow() {
	p.err = p.client.call(context.Background(), protocol.Wait, p.ref, &p.exit)
	if err := p.pipes.finish(); p.err == nil {
		p.err = err
	}
	close(p.ended)
}

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.ended }

// Wait waits until the process has ended and its output was copied. It may be called again. The error is [ErrGone] if the host has
// ended or the pod was removed just after the start, the context's error, or the error of a writer, which comes with a valid Exit.
func (p *Process) Wait(ctx context.Context) (spec.Exit, error) {
	select {
	case <-p.ended:
		return p.exit, p.err
	case <-ctx.Done():
		return spec.Exit{}, ctx.Err()
	}
}

// Signal sends the process a signal. A container's first process ignores signals that it does not handle, except SIGKILL and
// SIGSTOP (pid_namespaces(7)).
func (p *Process) Signal(ctx context.Context, signal syscall.Signal) error {
	return p.client.call(ctx, protocol.Signal, protocol.SignalRequest{ProcessRef: p.ref, Signal: int32(signal)}, nil)
}

// Kill kills the process, and the foreground processes of its terminal. For a container's first process it kills all processes of
// the container.
func (p *Process) Kill(ctx context.Context) error {
	if p.ref.PID != 0 && p.pipes.hasTerminal() {
		foreground := protocol.SignalRequest{ProcessRef: p.ref, Signal: int32(syscall.SIGKILL), Foreground: true}
		_ = p.client.call(ctx, protocol.Signal, foreground, nil) // The terminal may have no foreground processes.
	}
	r := protocol.SignalRequest{ProcessRef: p.ref, Signal: int32(syscall.SIGKILL), All: p.ref.PID == 0}
	return p.client.call(ctx, protocol.Signal, r, nil)
}

// Resize sets the size of the terminal in characters, and tells the foreground processes.
func (p *Process) Resize(ctx context.Context, columns, rows uint16) error {
	if err := p.pipes.resize(columns, rows); err != nil {
		return err
	}
	r := protocol.SignalRequest{ProcessRef: p.ref, Signal: int32(syscall.SIGWINCH), Foreground: true}
	return p.client.call(ctx, protocol.Signal, r, nil)
}
