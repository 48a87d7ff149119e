package node

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// These delays precede the restart of a container that exited, as in the kubelet: none the first time, then 10
// seconds, doubling up to five minutes. Ten minutes of running reset the delay.
const (
	firstCrashDelay = 10 * time.Second
	maxCrashDelay   = 5 * time.Minute
	crashesForgiven = 10 * time.Minute
)

// These delays precede another attempt to start a container, for example one that lacks a Secret. A new Secret ends
// the delay, as a new image does.
const (
	firstConfigDelay = 500 * time.Millisecond
	maxConfigDelay   = time.Minute
)

// container runs one container of a pod.
type container struct {
	pod  *pod
	spec *corev1.Container // from the creation of the pod; the pod may have changed the image since
	init bool              // an init container, or a sidecar

	changed chan struct{} // signals that wanted has changed
	retry   chan struct{} // signals a change to an object that the container refers to
	up      chan struct{} // isUp closes it at the container's first start
	isUp    func()

	// The pod's lock guards the fields below.

	wanted   string // the image that the pod asks for
	name     string // the image that runs
	image    *Image // the image's catalogue entry; nil: simulated
	refused  error  // why the catalogue does not run the image
	state    corev1.ContainerState
	last     corev1.ContainerState
	restarts int32
	started  bool // the startup probe has passed
	ready    bool
	ended    bool          // the container has ended and the node does not restart it
	ports    map[int32]int // container port -> port on loopback, in the network of process
	network  network       // network of the last process; nil: no process has run yet
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

// find looks up the pod's image in the catalogue. The caller must hold the lock.
func (c *container) find() {
	c.name = c.wanted
	c.image, c.refused = c.pod.node.catalogue.find(c.pod.namespace, c.pod.object.Spec.ServiceAccountName, c.name)
}

// isOutdated reports whether the pod asks for another image than the running one.
func (c *container) isOutdated() bool {
	c.pod.mu.Lock()
	defer c.pod.mu.Unlock()
	return c.name != c.wanted
}

// isSidecar reports whether the container is an init container that keeps running beside the others (Kubernetes,
// "Sidecar Containers").
func (c *container) isSidecar() bool {
	return c.init && c.spec.RestartPolicy != nil && *c.spec.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// again reports whether the node restarts the container after an exit with code.
func (c *container) again(code int) bool {
	policy := c.pod.current().Spec.RestartPolicy
	if c.spec.RestartPolicy != nil {
		policy = corev1.RestartPolicy(*c.spec.RestartPolicy)
	} else if c.init && policy == corev1.RestartPolicyAlways {
		policy = corev1.RestartPolicyOnFailure
	}
	return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && code != 0
}

// run runs and restarts the container until its restart policy ends it or ctx is done. When ctx is done, the program
// gets the pod's grace period. run returns the last exit code.
func (c *container) run(ctx context.Context) int {
	defer c.set(func() { c.ended = true })
	if before := c.state.Terminated; before != nil {
		// The container ended for good before the node restarted.
		return int(before.ExitCode)
	}
	// The supervisor's status omits containers that have ended.
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
			crashDelay = 0 // The new image has not crashed yet.
		}
	}
}

// cannotStart reports why the container cannot start, and waits for the next attempt.
func (c *container) cannotStart(ctx context.Context, err error, delay time.Duration) {
	w := waitError{"CreateContainerConfigError", err}
	_ = errors.As(err, &w)
	c.waiting(w.reason, err.Error())
	c.pod.event(corev1.EventTypeWarning, "Failed", "container %s: %v", c.spec.Name, err)
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

// waitError is the reason why a container cannot start now. The container's status shows reason.
type waitError struct {
	reason string
	error
}

func (e waitError) Unwrap() error { return e.error }

// reasonImage is the status reason for an image that is not available.
const reasonImage = "ErrImagePull"
