package pod

import (
	"context"
	"errors"
	"net"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// Interactive implements streams.Pod.
func (p *Pod) Interactive(container string) (runtime.Interactive, error) {
	for _, c := range p.everyone() {
		if c.spec.Name == container {
			return c.interactive()
		}
	}
	return nil, runtime.ErrNoContainer
}

// interactive returns the container's current run.
func (c *container) interactive() (runtime.Interactive, error) {
	c.pod.mu.Lock()
	run, executor := c.run, c.choice.Runtime
	c.pod.mu.Unlock()
	if executor.Name() != runtime.Sandboxed {
		return nil, errors.ErrUnsupported
	}
	if run == nil {
		return nil, runtime.ErrNotRunning
	}
	interactive, ok := run.(runtime.Interactive)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	select {
	case <-run.Done():
		return nil, runtime.ErrNotRunning
	default:
		return interactive, nil
	}
}

// Forward implements streams.Pod. The containers of a pod share its ports, so every running container can connect.
func (p *Pod) Forward() (func(ctx context.Context, port int32) (net.Conn, error), error) {
	var err = runtime.ErrNotRunning
	for _, c := range p.everyone() {
		var run runtime.Interactive
		if run, err = c.interactive(); err == nil {
			return run.Dial, nil
		}
	}
	return nil, err
}
