package pod

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/probe"
)

// outcome is the reason why a run ended.
type outcome int

const (
	ended   outcome = iota // the program exited, or a probe failed
	changed                // the pod asks for another image
	stopped                // the pod ended
)

// watch waits for the end of a run: the program exits, a probe fails, the pod asks for another image, or ctx is done.
func (c *container) watch(ctx context.Context, began time.Time) outcome {
	if !c.executes() {
		return c.watchSimulated(ctx, began)
	}
	probes, stop := context.WithCancel(ctx)
	unhealthy := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() { c.attend(probes, began, sync.OnceFunc(func() { close(unhealthy) })) })
	why := ended
	select {
	case <-c.run.Done():
	case <-unhealthy:
		c.end(c.probeGrace())
	case <-c.changed:
		why = changed
		c.pod.event(corev1.EventTypeNormal, "Killing", "container %s definition changed, will be restarted", c.spec.Name)
		c.end(c.pod.grace())
	case <-ctx.Done():
		why = stopped
		c.end(c.pod.grace())
	}
	stop()
	group.Wait()
	return why
}

// watchSimulated is watch for a runtime that executes nothing. The container is started and ready at once, without
// probes and hooks.
func (c *container) watchSimulated(ctx context.Context, began time.Time) outcome {
	c.begun(began)
	c.set(func() { c.started, c.ready = true, true })
	select {
	case <-c.run.Done():
		return ended
	default:
	}
	select {
	case <-c.changed:
		return changed
	case <-ctx.Done():
		return stopped
	}
}

// attend runs the container's postStart hook, marks the container as running, and probes it until ctx is done. It
// calls unhealthy if the hook or a probe has failed and the container must restart.
func (c *container) attend(ctx context.Context, began time.Time, unhealthy func()) {
	prober := c.prober()
	if c.spec.Lifecycle != nil {
		if err := prober.Hook(ctx, c.spec.Lifecycle.PostStart); ctx.Err() != nil {
			return
		} else if err != nil {
			c.pod.event(corev1.EventTypeWarning, "FailedPostStartHook", "container %s: postStart hook: %v", c.spec.Name, err)
			unhealthy()
			return
		}
	}
	c.begun(began)
	prober.Run(ctx, probe.Observer{
		Started: func() {
			c.set(func() { c.started, c.ready = true, c.spec.ReadinessProbe == nil })
		},
		Ready: func(ok bool, err error) {
			if !ok {
				c.unhealthy("readiness", err)
			}
			c.set(func() { c.ready = ok })
		},
		Unhealthy: func(kind string, err error) {
			c.unhealthy(kind, err)
			unhealthy()
		},
	})
}

// unhealthy emits an event about a failed probe.
func (c *container) unhealthy(kind string, err error) {
	c.pod.event(corev1.EventTypeWarning, "Unhealthy", "container %s: %s probe failed: %v", c.spec.Name, kind, err)
}

// end ends the program: by the container's preStop hook, then by SIGTERM, and finally by SIGKILL.
func (c *container) end(grace time.Duration) {
	by := time.Now().Add(grace)
	ctx, cancel := context.WithDeadline(context.Background(), by)
	defer cancel()
	go func() {
		select {
		case <-c.run.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	if c.spec.Lifecycle != nil {
		if err := c.prober().Hook(ctx, c.spec.Lifecycle.PreStop); err != nil {
			c.pod.event(corev1.EventTypeWarning, "FailedPreStopHook", "container %s: preStop hook: %v", c.spec.Name, err)
		}
	}
	c.run.Stop(max(time.Until(by), leastGrace))
}

// probeGrace returns the grace period of a container with a failed probe: the probe's own, or the pod's.
func (c *container) probeGrace() time.Duration {
	for _, probe := range []*corev1.Probe{c.spec.LivenessProbe, c.spec.StartupProbe} {
		if probe != nil && probe.TerminationGracePeriodSeconds != nil {
			return time.Duration(*probe.TerminationGracePeriodSeconds) * time.Second
		}
	}
	return c.pod.grace()
}
