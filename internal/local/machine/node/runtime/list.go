package runtime

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Declined is an error of a runtime that leaves a pod to the next runtime.
type Declined struct {
	// Err is the reason, for the users of the pod.
	Err error
	// Later says that the runtime may run the pod later: the node asks it again.
	Later bool
}

func (e Declined) Error() string { return e.Err.Error() }

func (e Declined) Unwrap() error { return e.Err }

// List holds the runtimes of a node in the order in which the node asks them for an image. The last one must run every
// image.
type List []Runtime

// Choice is the runtime of a container.
type Choice struct {
	Runtime Runtime
	// Image is the container's image, or nil if Err is set.
	Image Image
	// Err says why the runtime cannot run the image.
	Err error
	// Declined is the reason of the last runtime that declined the image, or nil.
	Declined error
}

// Find returns the first runtime that runs an image for a pod, and neither declines the image nor is declined.
func (l List) Find(pod *corev1.Pod, image string, declined map[string]error) Choice {
	c := Choice{Runtime: l[0]}
	for _, r := range l {
		if why := declined[r.Name()]; why != nil {
			c.Declined = why
			continue
		}
		found, err := r.Find(pod, image)
		if no, ok := errors.AsType[Declined](err); ok {
			c.Declined = no.Err
			continue
		}
		if found != nil || err != nil {
			c.Runtime, c.Image, c.Err = r, found, err
			return c
		}
	}
	c.Err = fmt.Errorf("no runtime of this node runs the image %s", image)
	return c
}

// Name returns the value of Annotation for a pod whose containers have these runtimes: the name of the one that is first
// in the list.
func (l List) Name(used []Runtime) string {
	for _, r := range l {
		if slices.ContainsFunc(used, func(u Runtime) bool { return u.Name() == r.Name() }) {
			return r.Name()
		}
	}
	return ""
}

// Forget removes the records of a container from every runtime, because a new image may have moved the container from
// one runtime to another.
func (l List) Forget(namespace, pod, container string) {
	for _, r := range l {
		r.Forget(namespace, pod, container)
	}
}

// Leave releases a pod in every runtime.
func (l List) Leave(pod types.UID) {
	for _, r := range l {
		r.Leave(pod)
	}
}
