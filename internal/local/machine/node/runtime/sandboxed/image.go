package sandboxed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/images/credentials"
	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/pull"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// pulled is the result of a pull: an image with a lease, or an error.
type pulled struct {
	images.Image
	lease *store.Lease
	err   error
	// unseen says that no container has shown the error yet.
	unseen bool
}

// release ends the lease.
func (p pulled) release() {
	if p.lease != nil {
		p.lease.Close()
	}
}

// pull brings an image into the home by a container's policy, with events about it.
func (r *Runtime) pull(ctx context.Context, d runtime.Pod, name string, policy corev1.PullPolicy) pulled {
	found, err := r.pullBy(ctx, d, name, policy)
	if err != nil {
		return pulled{err: err, unseen: true}
	}
	lease, err := r.options.Images.Lease(ctx, found)
	return pulled{Image: found, lease: lease, err: err}
}

// pullBy returns an image that the pod's namespace may use. The words of the events are the kubelet's.
func (r *Runtime) pullBy(ctx context.Context, d runtime.Pod, name string, policy corev1.PullPolicy) (images.Image, error) {
	view := r.options.Images.For(d.Object.Namespace)
	if policy != corev1.PullAlways {
		found, err := view.Get(ctx, name)
		if err == nil {
			d.Event(corev1.EventTypeNormal, "Pulled", "Container image %q already present on machine", name)
		}
		if fault.Of(err) != fault.NotFound {
			return found, err
		}
		if policy == corev1.PullNever {
			return found, runtime.Error{Reason: "ErrImageNeverPull", Err: fmt.Errorf("container image %q is not present with pull policy of Never", name)}
		}
	}
	keychain, err := keychain(ctx, d)
	if err != nil {
		return images.Image{}, err
	}
	d.Event(corev1.EventTypeNormal, "Pulling", "Pulling image %q", name)
	began := time.Now()
	found, err := view.Pull(ctx, name, keychain, progress(name, d.Pulling))
	if policy == corev1.PullAlways && fault.Of(err) == fault.Unavailable {
		// A machine without a network keeps running the images that it has.
		if kept, missing := view.Get(ctx, name); missing == nil {
			d.Event(corev1.EventTypeWarning, "Failed", "Failed to pull image %q: %v: the image of the last pull runs", name, err)
			return kept, nil
		}
	}
	if err == nil {
		d.Event(corev1.EventTypeNormal, "Pulled", "Successfully pulled image %q in %s", name, time.Since(began).Round(time.Millisecond))
	}
	return found, err
}

// progress returns a function that shows the progress of a pull, at most once a second.
func progress(name string, show func(image, message string)) func(pull.Event) {
	const megabyte = 1 << 20
	var last time.Time
	return func(e pull.Event) {
		if now := time.Now(); now.Sub(last) >= time.Second && e.Total > 0 {
			last = now
			verb := "Pulling"
			if e.Step == pull.Unpacking {
				verb = "Unpacking"
			}
			show(name, fmt.Sprintf("%s image %q: %d of %d MB", verb, name, e.Done/megabyte, (e.Total+megabyte-1)/megabyte))
		}
	}
}

// keychain returns the credentials of a pod: those of its imagePullSecrets alone. The login of the user of this machine is not
// among them, because any team could then read every image that this user can. A Secret that does not exist is ignored, as in
// the kubelet.
func keychain(ctx context.Context, d runtime.Pod) (authn.Keychain, error) {
	var secrets []credentials.Secret
	for _, reference := range d.Object.Spec.ImagePullSecrets {
		data, err := d.Environment.Secret(ctx, reference.Name, true)
		if err != nil {
			return nil, err
		}
		if data == nil {
			d.Event(corev1.EventTypeWarning, "FailedToRetrieveImagePullSecret", "Unable to retrieve the image pull secret %s: the pull continues without it", reference.Name)
			continue
		}
		secrets = append(secrets, credentials.Secret{Name: d.Object.Namespace + "/" + reference.Name, Data: data})
	}
	return credentials.Secrets(secrets...)
}

// image is a container's image in the runtime.
type image struct {
	runtime *Runtime
	name    string
}

// image returns the image of a container. It pulls an image that the pod did not have at its start, or that failed.
func (p *pod) image(ctx context.Context, d runtime.Pod, c *corev1.Container, name string) (images.Image, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, known := p.images[name]
	switch {
	case known && found.err != nil && found.unseen:
		// The pull of the pod's start was this attempt.
		found.unseen = false
		p.images[name] = found
	case !known || found.err != nil:
		found = p.runtime.pull(ctx, d, name, c.ImagePullPolicy)
		found.unseen = false
		p.images[name] = found
	}
	return found.Image, reasoned(name, found.err)
}

// reasoned adds the kubelet's reason to the error of a pull.
func reasoned(name string, err error) error {
	if own := (runtime.Error{}); err == nil || errors.As(err, &own) {
		return err
	}
	if fault.Of(err) == fault.InvalidName {
		return runtime.Error{Reason: "InvalidImageName", Err: err}
	}
	return runtime.Error{Reason: runtime.ReasonImage, Image: name, Err: err}
}
