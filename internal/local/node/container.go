package node

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/process"
)

// Delays before a container that ended is started again, as the kubelet has them: at once the first time, then 10
// seconds, doubling up to five minutes; forgotten after ten minutes of running.
const (
	firstCrashDelay = 10 * time.Second
	maxCrashDelay   = 5 * time.Minute
	crashesForgiven = 10 * time.Minute
)

// Delays before another try where a container cannot be started, for want of a Secret for example. A Secret that comes
// ends the delay, as another image does.
const (
	firstConfigDelay = 500 * time.Millisecond
	maxConfigDelay   = time.Minute
)

// container runs one container of a pod.
type container struct {
	pod  *pod
	spec *corev1.Container // as the pod was made; its image may have changed since
	init bool              // an init container, or a sidecar

	changed chan struct{} // says that wanted has changed
	retry   chan struct{} // says that something has changed that the container refers to
	up      chan struct{} // closed by isUp when the container has started for the first time
	isUp    func()

	// What follows is guarded by the pod's lock.

	wanted   string // the image that the pod asks for
	name     string // the image that runs
	image    *Image // what the catalogue has for it; nil: simulated
	refused  error  // why the catalogue does not run it
	state    corev1.ContainerState
	last     corev1.ContainerState
	restarts int32
	started  bool // the startup probe has passed
	ready    bool
	ended    bool          // the container has ended and is not started again
	ports    map[int32]int // container port -> port on loopback, in the network of process
	network  network       // that of the process that ran last; nil: nothing has run
}

func newContainer(p *pod, spec *corev1.Container, init bool) *container {
	c := &container{
		pod: p, spec: spec.DeepCopy(), init: init, wanted: spec.Image,
		changed: make(chan struct{}, 1), retry: make(chan struct{}, 1), up: make(chan struct{}),
	}
	c.isUp = sync.OnceFunc(func() { close(c.up) })
	reason := "ContainerCreating"
	if len(p.object.Spec.InitContainers) > 0 {
		reason = "PodInitializing"
	}
	c.state.Waiting = &corev1.ContainerStateWaiting{Reason: reason}
	c.find()
	c.restore()
	return c
}

// find finds the image that the pod asks for in the catalogue. The caller holds the lock.
func (c *container) find() {
	c.name = c.wanted
	c.image, c.refused = c.pod.node.catalogue.find(c.pod.namespace, c.pod.object.Spec.ServiceAccountName, c.name)
}

// isOutdated says whether the pod asks for another image than the one that runs.
func (c *container) isOutdated() bool {
	c.pod.mu.Lock()
	defer c.pod.mu.Unlock()
	return c.name != c.wanted
}

// isSidecar says whether the container is an init container that runs beside the others (Kubernetes, "Sidecar Containers").
func (c *container) isSidecar() bool {
	return c.init && c.spec.RestartPolicy != nil && *c.spec.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// again says whether the container is started again when it has ended with an exit code.
func (c *container) again(code int) bool {
	policy := c.pod.current().Spec.RestartPolicy
	if c.spec.RestartPolicy != nil {
		policy = corev1.RestartPolicy(*c.spec.RestartPolicy)
	} else if c.init && policy == corev1.RestartPolicyAlways {
		policy = corev1.RestartPolicyOnFailure
	}
	return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && code != 0
}

// running is one run of a container: its process, or nothing where it is simulated.
type running struct {
	process *process.Process
	image   *Image
	env     []string
	began   time.Time
}

// exitError says why the program ended, where nobody asked it to.
func (r *running) exitError() error {
	if r.process == nil {
		return nil
	}
	return r.process.ExitError()
}

// run runs the container until it is not to be started again, or until ctx ends; then the program gets the pod's grace
// period. It returns the last exit code.
func (c *container) run(ctx context.Context) int {
	defer c.set(func() { c.ended = true })
	if before := c.state.Terminated; before != nil {
		// It had ended for good when the node was restarted.
		return int(before.ExitCode)
	}
	// What is not started again is of no interest to the supervisor's status.
	defer c.pod.node.processes.Forget(c.component())
	var crashDelay, configDelay time.Duration
	for {
		r, err := c.start(ctx)
		if err != nil && ctx.Err() == nil {
			configDelay = min(max(2*configDelay, firstConfigDelay), maxConfigDelay)
			c.cannotStart(ctx, err, configDelay)
			continue
		}
		if err != nil {
			return c.terminated(nil)
		}
		configDelay = 0
		why := c.watch(ctx, r)
		code := c.terminated(r)
		if why == stopped || why != changed && !c.again(code) {
			return code
		}
		if why == changed || time.Since(r.began) > crashesForgiven {
			crashDelay = 0
		}
		c.crashed(r.exitError(), crashDelay)
		if !c.wait(ctx, crashDelay, nil) {
			return code
		}
		crashDelay = min(max(2*crashDelay, firstCrashDelay), maxCrashDelay)
		if c.isOutdated() {
			crashDelay = 0 // Another image has not crashed yet.
		}
	}
}

// cannotStart says why the container cannot be started and waits for another try.
func (c *container) cannotStart(ctx context.Context, err error, delay time.Duration) {
	w := waitError{"CreateContainerConfigError", err}
	_ = errors.As(err, &w)
	c.waiting(w.reason, err.Error())
	c.pod.event(corev1.EventTypeWarning, "Failed", "container %s: %v", c.spec.Name, err)
	c.pod.watch()
	c.wait(ctx, delay, c.retry)
}

// Why a run ended.
type outcome int

const (
	ended   outcome = iota // by itself, or because a probe failed
	changed                // for another image
	stopped                // with its pod
)

// watch sees to a run until it has ended: by itself, for a failed probe, for another image, or because ctx ended.
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

// simulate pretends to run: the container is started and ready at once. It completes where one that runs would: an init
// container, and one of a Job.
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

// wait waits for a time, for word in retry, or for another image; false means that ctx has ended.
func (c *container) wait(ctx context.Context, d time.Duration, retry <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-c.changed:
	case <-retry:
	case <-time.After(d):
	}
	return ctx.Err() == nil
}

// end asks the program to end: by the container's preStop hook, then by SIGTERM, and at last by SIGKILL.
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

// probeGrace is the grace period of a container that a probe has failed: the probe's own, or that of the pod.
func (c *container) probeGrace() time.Duration {
	for _, probe := range []*corev1.Probe{c.spec.LivenessProbe, c.spec.StartupProbe} {
		if probe != nil && probe.TerminationGracePeriodSeconds != nil {
			return time.Duration(*probe.TerminationGracePeriodSeconds) * time.Second
		}
	}
	return c.pod.grace()
}

// waitError is why a container cannot be started now, with the reason that its status shows.
type waitError struct {
	reason string
	error
}

func (e waitError) Unwrap() error { return e.error }

// reasonImage says that the image that the pod asks for cannot be had.
const reasonImage = "ErrImagePull"
