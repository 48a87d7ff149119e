package pod

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// These delays precede the restart of a container that exited, as in the kubelet: none the first time, then 10
// seconds, doubling up to five minutes. Ten minutes of running reset the delay.
const (
	firstCrashDelay = 10 * time.Second
	maxCrashDelay   = 5 * time.Minute
	crashesForgiven = 10 * time.Minute
)

// These delays precede another attempt to start a container, for example one whose Secret does not exist yet. A new
// Secret and a new image end the delay.
const (
	firstConfigDelay = 500 * time.Millisecond
	maxConfigDelay   = time.Minute
)

// container runs one container of a pod.
type container struct {
	pod  *Pod
	spec *corev1.Container // from the creation of the pod; the pod may have changed the image since
	init bool              // an init container, or a sidecar
	// ephemeral marks an ephemeral container. target is the container whose processes it sees, or empty.
	ephemeral bool
	target    string

	changed chan struct{} // signals that wanted has changed
	retry   chan struct{} // signals a change to an object that the container refers to
	up      chan struct{} // closes at the container's first start
	isUp    func()        // closes up

	// The pod's lock guards the fields below.

	wanted   string         // the image that the pod asks for
	name     string         // the image that runs, or the image that could not start
	choice   runtime.Choice // how the node runs the image name
	run      runtime.Run    // the last run; nil: the container has not run yet
	state    corev1.ContainerState
	last     corev1.ContainerState
	restarts int32
	started  bool // the startup probe has passed
	moved    bool // the next run is in another runtime
	// pullDelay is the wait after the last failed pull, or zero.
	pullDelay time.Duration
	ready     bool
	ended     bool // the container has ended and the node does not restart it
}

// newContainer returns a container that waits for its start, or that has ended with an earlier node. The caller must
// hold the pod's lock, or have the only reference to the pod.
func newContainer(p *Pod, spec *corev1.Container, init bool) *container {
	c := &container{
		pod: p, spec: spec.DeepCopy(), init: init, wanted: spec.Image,
		changed: make(chan struct{}, 1), retry: make(chan struct{}, 1), up: make(chan struct{}),
	}
	for _, e := range p.object.Spec.EphemeralContainers {
		if e.Name == spec.Name {
			c.ephemeral, c.target = true, e.TargetContainerName
		}
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

// isOutdated reports whether the pod asks for another image than the running one.
func (c *container) isOutdated() bool {
	c.pod.mu.Lock()
	defer c.pod.mu.Unlock()
	return c.name != c.wanted
}

// isSidecar reports whether the container is a sidecar.
func (c *container) isSidecar() bool { return runtime.IsSidecar(c.spec, c.init) }

// executes reports whether the container's runtime executes its program.
func (c *container) executes() bool {
	c.pod.mu.Lock()
	defer c.pod.mu.Unlock()
	return c.choice.Runtime.Executes()
}

// again reports whether the restart policy restarts the container after an exit with code.
func (c *container) again(code int) bool {
	if c.ephemeral {
		return false
	}
	policy := c.pod.Object().Spec.RestartPolicy
	if c.spec.RestartPolicy != nil {
		policy = corev1.RestartPolicy(*c.spec.RestartPolicy)
	} else if c.init && policy == corev1.RestartPolicyAlways {
		policy = corev1.RestartPolicyOnFailure
	}
	return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && code != 0
}

// keepRunning runs and restarts the container until its restart policy ends it or ctx is done. When ctx is done, the
// program gets the pod's grace period. keepRunning returns the last exit code.
func (c *container) keepRunning(ctx context.Context) int {
	defer c.set(func() { c.ended = true })
	if before := c.state.Terminated; before != nil {
		// The container ended for good before the node restarted.
		return int(before.ExitCode)
	}
	o := c.pod.Object()
	defer c.pod.host.Runtimes.Forget(o.Namespace, o.Name, c.spec.Name)
	var crashDelay, configDelay time.Duration
	for {
		began, err := c.start(ctx)
		if err != nil && ctx.Err() == nil {
			configDelay = min(max(2*configDelay, firstConfigDelay), maxConfigDelay)
			c.cannotStart(ctx, err, configDelay)
			continue
		}
		if err != nil {
			// The pod ends, and may be the reason for the error.
			return c.neverRan()
		}
		configDelay, c.pullDelay = 0, 0
		why := c.watch(ctx, began)
		if why == changed && c.moves() {
			continue
		}
		exit := c.run.Exit()
		c.terminated(began, exit)
		if why == stopped || why != changed && !c.again(exit.Code) {
			return exit.Code
		}
		if why == changed || time.Since(began) > crashesForgiven {
			crashDelay = 0
		}
		c.crashed(exit.Err, crashDelay)
		if !c.wait(ctx, crashDelay, nil) {
			return exit.Code
		}
		crashDelay = min(max(2*crashDelay, firstCrashDelay), maxCrashDelay)
		if c.isOutdated() {
			crashDelay = 0 // The new image has not crashed yet.
		}
	}
}

// start starts a run of the container, and returns the time of the start.
func (c *container) start(ctx context.Context) (time.Time, error) {
	choice, err := c.enter(ctx)
	if err != nil {
		return time.Time{}, err
	}
	run, err := choice.Image.Start(ctx, runtime.Container{Pod: c.pod.describe(), Spec: c.spec, Init: c.init, Target: c.target, Log: c.log()})
	if err != nil {
		return time.Time{}, err
	}
	c.pod.mu.Lock()
	c.run = run
	c.pod.mu.Unlock()
	return time.Now(), nil
}

// log returns the path of the container's log.
func (c *container) log() string {
	o := c.pod.Object()
	return c.pod.host.Logs.Path(o.Namespace, o.Name, c.spec.Name)
}

// cannotStart reports why the container cannot start, and waits for the next attempt.
func (c *container) cannotStart(ctx context.Context, err error, delay time.Duration) {
	w := runtime.Error{Reason: "CreateContainerConfigError", Err: err}
	_ = errors.As(err, &w)
	if w.Image != "" {
		c.cannotPull(ctx, w)
		return
	}
	c.waiting(w.Reason, err.Error())
	c.pod.event(corev1.EventTypeWarning, "Failed", "container %s: %v", c.spec.Name, err)
	// The Secret or ConfigMap that the container needs may appear at any time.
	c.pod.watch()
	c.wait(ctx, delay, c.retry)
}

// wait waits for a duration, for a signal in retry, or for another image. It returns false if ctx is done.
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
