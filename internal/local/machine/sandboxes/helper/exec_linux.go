package helper

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/protocol"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/sentry"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// execKey identifies a process that exec has started.
type execKey struct {
	container string
	pid       int32
}

// exec starts another process in a container. It returns its terminal, if it has one.
func (p *pod) exec(ctx context.Context, r protocol.ExecRequest, files []*os.File) (any, *os.File, error) {
	if err := r.Process.Validate(); err != nil {
		return nil, nil, err
	}
	streams, err := streamsOf(files, r.Process.Terminal)
	if err != nil {
		return nil, nil, err
	}
	c, err := p.container(r.Container)
	if err != nil {
		return nil, nil, err
	}
	var terminal *os.File
	if r.Process.Terminal {
		var replica *os.File
		if terminal, replica, err = openTerminal(); err != nil {
			return nil, nil, err
		}
		defer replica.Close()
		streams = [3]*os.File{replica, replica, replica}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pid, err := p.sentry.Exec(ctx, c.id, r.Process, streams)
	if err != nil {
		if terminal != nil {
			terminal.Close()
		}
		return nil, nil, fmt.Errorf("run %q in container %q: %w", r.Process.Args[0], r.Container, err)
	}
	started := &process{done: make(chan struct{})}
	p.mu.Lock()
	p.execs[execKey{r.Container, pid}] = started
	p.mu.Unlock()
	go p.follow(started, func(ctx context.Context) (syscall.WaitStatus, error) { return p.sentry.WaitProcess(ctx, c.id, pid) }, c)
	return protocol.ExecResult{PID: pid}, terminal, nil
}

// signal sends a signal to a process.
func (p *pod) signal(ctx context.Context, r protocol.SignalRequest) error {
	c, err := p.container(r.Container)
	if err != nil {
		return err
	}
	target := sentry.One
	if r.Foreground {
		target = sentry.Foreground
	}
	if r.All {
		target = sentry.All
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := p.sentry.Signal(ctx, c.id, r.PID, syscall.Signal(r.Signal), target); err != nil {
		return fmt.Errorf("send signal %d to container %q: %w", r.Signal, r.Container, err)
	}
	return nil
}

// stats returns the resources that the pod uses.
func (p *pod) stats(ctx context.Context) (any, *os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	total, err := p.used()
	if err != nil {
		return nil, nil, err
	}
	result := spec.Stats{Memory: total, Containers: map[string]spec.ContainerStats{}}
	for id, c := range p.running() {
		stats, err := p.sentry.Stats(ctx, c.id)
		if err != nil {
			continue // It has ended in the meantime.
		}
		result.Containers[id] = stats
	}
	return result, nil, nil
}

// running returns the containers that have not ended.
func (p *pod) running() map[string]*container {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := map[string]*container{}
	for id, c := range p.containers {
		select {
		case <-c.done:
		default:
			found[id] = c
		}
	}
	return found
}

// used returns the memory of all containers in bytes. gVisor keeps it in one file in memory. The blocks of this file, which
// stat(2) counts in units of 512 bytes, are the memory in use.
func (p *pod) used() (int64, error) {
	var info unix.Stat_t
	if err := unix.Fstat(int(p.memory.Fd()), &info); err != nil {
		return 0, fmt.Errorf("measure the memory of pod %q: %w", p.ID, err)
	}
	return info.Blocks * 512, nil
}
