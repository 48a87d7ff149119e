package node

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/process"
)

// running is one run of a container: a process, or nothing for a simulated container.
type running struct {
	process *process.Process
	image   *Image
	env     []string
	began   time.Time
}

// exitError returns the error of a program that exited by itself.
func (r *running) exitError() error {
	if r.process == nil {
		return nil
	}
	return r.process.ExitError()
}

// outcome is the reason why a run ended.
type outcome int

// watch waits for the end of a run: the program exits, a probe fails, the pod asks for another image, or ctx is done.
func (c *container) watch(ctx context.Context, r *running) outcome {
	if r.process == nil {
		return c.simulate(ctx, r)
	}
	probes, stop := context.WithCancel(ctx)
	unhealthy := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() { c.attend(probes, r, sync.OnceFunc(func() { close(unhealthy) })) })
	why := ended
	select {
	case <-r.process.Done():
	case <-unhealthy:
		c.end(r, c.probeGrace())
	case <-c.changed:
		why = changed
		c.pod.event(corev1.EventTypeNormal, "Killing", "container %s definition changed, will be restarted", c.spec.Name)
		c.end(r, c.pod.grace())
	case <-ctx.Done():
		why = stopped
		c.end(r, c.pod.grace())
	}
	stop()
	group.Wait()
	return why
}

// simulate simulates a run. The container is started and ready at once. Containers that would complete do so: an init
// container and a container of a Job.
func (c *container) simulate(ctx context.Context, r *running) outcome {
	c.begun(r)
	c.set(func() { c.started, c.ready = true, true })
	if c.init && !c.isSidecar() || !c.init && c.pod.ofJob() {
		return ended
	}
	select {
	case <-c.changed:
		return changed
	case <-ctx.Done():
		return stopped
	}
}

// end ends the program: by the container's preStop hook, then by SIGTERM, and finally by SIGKILL.
func (c *container) end(r *running, grace time.Duration) {
	by := time.Now().Add(grace)
	ctx, cancel := context.WithDeadline(context.Background(), by)
	defer cancel()
	go func() {
		select {
		case <-r.process.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	if c.spec.Lifecycle != nil {
		if err := c.hook(ctx, c.spec.Lifecycle.PreStop, r); err != nil {
			c.pod.event(corev1.EventTypeWarning, "FailedPreStopHook", "container %s: preStop hook: %v", c.spec.Name, err)
		}
	}
	r.process.Stop(max(time.Until(by), leastGrace))
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

const (
	ended   outcome = iota // the program exited, or a probe failed
	changed                // the pod asks for another image
	stopped                // the pod ended
)
