package pod

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// canMove reports whether the pod may move from one runtime to another while it runs. A pod with init containers may not:
// they have completed without effect.
func (p *Pod) canMove() bool {
	return !slices.ContainsFunc(p.inits, func(c *container) bool { return !c.isSidecar() })
}

// askAgain asks a runtime that has declined the pod until it accepts the pod, with the delays of a failed pull. Then the
// containers run in it.
func (p *Pod) askAgain(ctx context.Context, r runtime.Runtime) {
	delay := firstPullDelay
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(delay):
		}
		err := p.enter(ctx, r)
		if ctx.Err() != nil {
			return
		}
		if declined := (runtime.Declined{}); !errors.As(err, &declined) {
			// The containers show any other error.
			p.move(r)
			return
		}
		delay = min(2*delay, maxPullDelay)
	}
}

// move makes all containers run in a runtime that had declined them.
func (p *Pod) move(r runtime.Runtime) {
	p.mu.Lock()
	delete(p.declined, r.Name())
	for _, c := range p.all() {
		if before := c.choice.Runtime; !c.ended {
			c.find()
			c.moved = before.Name() != c.choice.Runtime.Name()
			if c.moved {
				signal(c.changed)
			}
		}
	}
	p.object = p.object.DeepCopy()
	p.annotate()
	p.mu.Unlock()
	p.event(corev1.EventTypeNormal, "Moved", "the pod is no longer simulated: its images are available")
	p.publish()
}

// moves reports whether the container continues in another runtime, and ends its simulated run. This is no restart.
func (c *container) moves() bool {
	c.pod.mu.Lock()
	moved := c.moved
	c.moved = false
	c.pod.mu.Unlock()
	if !moved {
		return false
	}
	c.run.Stop(0)
	c.set(func() { c.started = false })
	c.waiting("ContainerCreating", "")
	return true
}
