package pod

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// ephemerals are the ephemeral containers of a pod (Kubernetes, "Ephemeral Containers"). They start when the pod gets them,
// never restart, and end with the pod. They count neither for the pod's phase nor for its readiness.
type ephemerals struct {
	// The pod's lock guards the fields.
	list  []*container
	start func(c *container) // nil: the pod does not run
	group sync.WaitGroup
}

// everyone returns all containers of the pod, including the ephemeral ones.
func (p *Pod) everyone() []*container {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Concat(p.inits, p.containers, p.ephemerals.list)
}

// adoptEphemerals starts the ephemeral containers that are new in the pod's object. The caller must hold the lock.
func (p *Pod) adoptEphemerals() {
	for i := range p.object.Spec.EphemeralContainers {
		added := &p.object.Spec.EphemeralContainers[i]
		if slices.ContainsFunc(p.ephemerals.list, func(c *container) bool { return c.spec.Name == added.Name }) {
			continue
		}
		spec := corev1.Container(added.EphemeralContainerCommon)
		c := newContainer(p, &spec, false)
		if w := c.state.Waiting; w != nil {
			w.Reason = "ContainerCreating"
		}
		p.ephemerals.list = append(p.ephemerals.list, c)
		if p.ephemerals.start != nil {
			p.ephemerals.start(c)
		}
	}
}

// runEphemerals starts the ephemeral containers of the pod, and those that it gets until ctx is done.
func (p *Pod) runEphemerals(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ephemerals.start = func(c *container) {
		p.ephemerals.group.Go(func() { c.runOnce(ctx) })
	}
	for _, c := range p.ephemerals.list {
		p.ephemerals.start(c)
	}
}

// awaitEphemerals waits for the ephemeral containers after the end of their context. The pod starts no more of them.
func (p *Pod) awaitEphemerals() {
	p.mu.Lock()
	p.ephemerals.start = nil
	p.mu.Unlock()
	p.ephemerals.group.Wait()
}

// runOnce runs an ephemeral container, if the pod runs in a sandbox: a process of this machine has nothing to share, and a
// simulated pod has no programs.
func (c *container) runOnce(ctx context.Context) {
	if name := c.pod.Object().Annotations[runtime.Annotation]; name != runtime.Sandboxed {
		why := fmt.Sprintf("ephemeral containers run in sandboxed pods only, and this pod is of the kind %s", name)
		c.waiting("CreateContainerError", why)
		c.pod.event(corev1.EventTypeWarning, "Failed", "container %s: %s", c.spec.Name, why)
		return
	}
	c.keepRunning(ctx)
}
