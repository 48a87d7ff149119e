package pod

import (
	"context"
	"errors"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// find asks the runtimes for the image that the pod asks for. The caller must hold the lock.
func (c *container) find() {
	c.name = c.wanted
	c.choice = c.pod.host.Runtimes.Find(c.pod.object, c.name, c.pod.declined)
}

// adopt returns the runtime and the image that the pod asks for now.
func (c *container) adopt() (runtime.Choice, error) {
	c.pod.mu.Lock()
	select {
	case <-c.changed: // The image below is the changed one, so that the signal must not end its run.
	default:
	}
	before := c.pod.object.Annotations[runtime.Annotation]
	if c.name != c.wanted {
		c.find()
		c.pod.object = c.pod.object.DeepCopy()
		c.pod.annotate()
	}
	after, choice := c.pod.object.Annotations[runtime.Annotation], c.choice
	c.pod.mu.Unlock()
	if before != after {
		c.pod.reportSimulated()
	}
	if choice.Err != nil {
		return choice, runtime.Error{Reason: runtime.ReasonImage, Err: choice.Err}
	}
	return choice, nil
}

// enter returns the runtime that runs the container, after the runtime has prepared the pod.
func (c *container) enter(ctx context.Context) (runtime.Choice, error) {
	for {
		choice, err := c.adopt()
		if err != nil {
			return choice, err
		}
		err = c.pod.enter(ctx, choice.Runtime)
		if declined := (runtime.Declined{}); errors.As(err, &declined) {
			c.pod.decline(choice.Runtime, declined)
			continue
		}
		return choice, err
	}
}
