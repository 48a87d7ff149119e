package helper

import (
	"context"
	"syscall"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes/sentry"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// limitsInterval is the time between two comparisons of the used resources with the limits. A comparison of memory takes a
// microsecond while the pod uses less than the smallest limit; processes are counted every countEvery-th time, by a call.
const (
	limitsInterval = 100 * time.Millisecond
	countEvery     = 3
)

// watchLimits kills the containers that exceed their limits, until the pod ends.
func (p *pod) watchLimits() {
	ticker := time.NewTicker(limitsInterval)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-p.ended:
			return
		case <-ticker.C:
		}
		p.enforceMemory()
		if n%countEvery == 0 {
			p.enforceProcesses()
		}
	}
}

// enforceMemory kills the containers that exceed their memory limit. It asks the sandbox about each container only when all
// containers together exceed the smallest limit, because such a call costs far more than the look at the total.
func (p *pod) enforceMemory() {
	limited := p.running()
	var smallest int64
	for id, c := range limited {
		if c.limits.Memory == 0 {
			delete(limited, id)
		} else if smallest == 0 || c.limits.Memory < smallest {
			smallest = c.limits.Memory
		}
	}
	total, err := p.used()
	if len(limited) == 0 || err != nil || total <= smallest {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	for _, c := range limited {
		stats, err := p.sentry.Stats(ctx, c.id)
		if err == nil && stats.Memory > c.limits.Memory {
			p.exceed(ctx, c, spec.MemoryLimit)
		}
	}
}

func (p *pod) enforceProcesses() {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	for _, c := range p.running() {
		if c.limits.Processes == 0 {
			continue
		}
		n, err := p.sentry.Processes(ctx, c.id)
		if err == nil && n > c.limits.Processes {
			p.exceed(ctx, c, spec.ProcessesLimit)
		}
	}
}

// exceed kills a container because of a limit. gVisor stops all processes for the signal, so none escapes by a fork.
func (p *pod) exceed(ctx context.Context, c *container, limit spec.Limit) {
	p.mu.Lock()
	c.exceeded = limit
	p.mu.Unlock()
	_ = p.sentry.Signal(ctx, c.id, 0, syscall.SIGKILL, sentry.All)
}
