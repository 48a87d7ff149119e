package node

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// attend runs the container's postStart hook, marks the container as running, and probes it until ctx is done. It
// calls unhealthy if the hook or a probe has failed and the container must restart.
func (c *container) attend(ctx context.Context, r *running, unhealthy func()) {
	if c.spec.Lifecycle != nil {
		if err := c.hook(ctx, c.spec.Lifecycle.PostStart, r); ctx.Err() != nil {
			return
		} else if err != nil {
			c.pod.event(corev1.EventTypeWarning, "FailedPostStartHook", "container %s: postStart hook: %v", c.spec.Name, err)
			unhealthy()
			return
		}
	}
	c.begun(r)
	c.probe(ctx, r, unhealthy)
}

// hook runs a lifecycle hook of the container. A nil hook succeeds.
func (c *container) hook(ctx context.Context, h *corev1.LifecycleHandler, r *running) error {
	switch {
	case h == nil:
		return nil
	case h.HTTPGet != nil:
		return c.checkHTTP(ctx, h.HTTPGet)
	case h.Exec != nil && len(h.Exec.Command) > 0 && r.image.Commands:
		return c.checkExec(ctx, h.Exec.Command, r.env)
	case h.Sleep != nil:
		wait(ctx, time.Duration(h.Sleep.Seconds)*time.Second)
		return ctx.Err()
	}
	return fmt.Errorf("this kind of hook is not supported on this node for image %s", r.image.Repository)
}
