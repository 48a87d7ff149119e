package pod

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// These delays precede another attempt to pull an image, as in the kubelet: 10 seconds, doubling up to five minutes. Another
// image and a change of an imagePullSecret end the delay.
const (
	firstPullDelay = 10 * time.Second
	maxPullDelay   = 5 * time.Minute
	// errorShown is how long the status shows the error of a pull before it shows the delay.
	errorShown = 2 * time.Second
)

// cannotPull reports that an image cannot be pulled, and waits for the next attempt.
func (c *container) cannotPull(ctx context.Context, failed runtime.Error) {
	c.pullDelay = min(max(2*c.pullDelay, firstPullDelay), maxPullDelay)
	c.waiting(failed.Reason, failed.Error())
	c.pod.event(corev1.EventTypeWarning, "Failed", "Failed to pull image %q: %v", failed.Image, failed.Err)
	c.pod.event(corev1.EventTypeWarning, "Failed", "Error: %s", failed.Reason)
	// The Secret with the credentials may appear at any time.
	c.pod.watch()
	next := time.NewTimer(c.pullDelay)
	defer next.Stop()
	shown := time.NewTimer(errorShown)
	defer shown.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.changed:
			c.pullDelay = 0
			return
		case <-c.retry:
			c.pullDelay = 0
			return
		case <-next.C:
			return
		case <-shown.C:
			c.pod.event(corev1.EventTypeNormal, "BackOff", "Back-off pulling image %q", failed.Image)
			c.waiting("ImagePullBackOff", "Back-off pulling image \""+failed.Image+"\": "+failed.Reason+": "+failed.Error())
		}
	}
}

// pulling shows the progress of a pull in the containers that wait for the image for the first time.
func (p *Pod) pulling(image, message string) {
	p.mu.Lock()
	found := false
	for _, c := range p.all() {
		if w := c.state.Waiting; w != nil && c.name == image && (w.Reason == "ContainerCreating" || w.Reason == "PodInitializing") {
			c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: w.Reason, Message: message}}
			found = true
		}
	}
	p.mu.Unlock()
	if found {
		p.publish()
	}
}
