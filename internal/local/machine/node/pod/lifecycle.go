package pod

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// These are the kubelet's reason and message for a pod that exceeds its active deadline.
const (
	reasonDeadline  = "DeadlineExceeded"
	messageDeadline = "Pod was active on the node longer than the specified deadline"
)

const (
	// defaultGrace is the API server's default for a pod's grace period.
	defaultGrace = 30 * time.Second
	// leastGrace is the minimum grace period of a program, as in the kubelet.
	leastGrace = 2 * time.Second
	// closingGrace bounds the grace period of every pod when the node itself stops.
	closingGrace = 45 * time.Second
)

// run runs the pod's containers in Kubernetes' order: init containers one by one, sidecars from their turn to the end,
// then the containers (Kubernetes, "Pod Lifecycle"). It returns when all have ended.
func (p *Pod) run(ctx context.Context) {
	p.reportSimulated()
	for _, c := range p.inits {
		if c.isSidecar() {
			// Sidecars end after the containers, in reverse order.
			defer p.startSidecar(ctx, c)()
			select {
			case <-c.up:
				continue
			case <-ctx.Done():
				return
			}
		}
		if c.keepRunning(ctx) != 0 || ctx.Err() != nil {
			return
		}
	}
	var group sync.WaitGroup
	for _, c := range p.containers {
		group.Go(func() { c.keepRunning(ctx) })
	}
	group.Wait()
	p.beginEnd()
}

// reportSimulated emits an event if the pod is simulated.
func (p *Pod) reportSimulated() {
	annotations := p.Object().Annotations
	if annotations[runtime.Annotation] != runtime.Simulated {
		return
	}
	why := annotations[runtime.ReasonAnnotation]
	if why == "" {
		why = "this node runs no containers"
	}
	p.event(corev1.EventTypeNormal, "Simulated", "the pod is simulated: %s", why)
}

// startSidecar starts a sidecar and returns the function that ends it. The sidecar outlives ctx.
func (p *Pod) startSidecar(ctx context.Context, c *container) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.keepRunning(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// armDeadline ends the pod at its active deadline. The caller must hold the lock.
func (p *Pod) armDeadline() {
	if p.deadline != nil {
		p.deadline.Stop()
	}
	seconds := p.object.Spec.ActiveDeadlineSeconds
	if seconds == nil || p.finished {
		return
	}
	began := time.Now()
	if t := p.object.Status.StartTime; t != nil {
		began = t.Time
	}
	p.deadline = time.AfterFunc(time.Until(began.Add(time.Duration(*seconds)*time.Second)), func() {
		p.mu.Lock()
		p.exceeded = true
		p.mu.Unlock()
		p.event(corev1.EventTypeNormal, reasonDeadline, "%s", messageDeadline)
		p.beginEnd()
		p.cancel()
	})
}

// beginEnd starts the pod's grace period. Only the first call has an effect.
func (p *Pod) beginEnd() {
	grace := p.gracePeriod()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopBy.IsZero() {
		p.stopBy = time.Now().Add(grace)
	}
}

// gracePeriod returns how long the pod may take to end.
func (p *Pod) gracePeriod() time.Duration {
	o, grace := p.Object(), defaultGrace
	if s := o.Spec.TerminationGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	if s := o.DeletionGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	if p.host.Closing() {
		grace = min(grace, closingGrace)
	}
	return grace
}

// grace returns how long a program may take to end from now on. If the whole pod is ending, that is the rest of the
// pod's grace period.
func (p *Pod) grace() time.Duration {
	p.mu.Lock()
	by := p.stopBy
	p.mu.Unlock()
	if by.IsZero() {
		return max(p.gracePeriod(), leastGrace)
	}
	return max(time.Until(by), leastGrace)
}
