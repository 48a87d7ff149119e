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
	"github.com/strata-platform/strata/internal/local/machine/images/store"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// pulled is the result of a pull: an image with a lease, or an error.
type pulled struct {
	images.Image
	lease *store.Lease
	err   error
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
		return pulled{err: err}
	}
	lease, err := r.options.Images.Lease(ctx, found)
	return pulled{Image: found, lease: lease, err: err}
}

func (r *Runtime) pullBy(ctx context.Context, d runtime.Pod, name string, policy corev1.PullPolicy) (images.Image, error) {
	if policy != corev1.PullAlways {
		found, err := r.options.Images.Get(ctx, name)
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
	found, err := r.options.Images.Pull(ctx, name, keychain, nil)
	if policy == corev1.PullAlways && fault.Of(err) == fault.Unavailable {
		// A machine without a network keeps running the images that it has.
		if kept, missing := r.options.Images.Get(ctx, name); missing == nil {
			d.Event(corev1.EventTypeWarning, "Failed", "Failed to pull image %q: %v: the image of the last pull runs", name, err)
			return kept, nil
		}
	}
	if err == nil {
		d.Event(corev1.EventTypeNormal, "Pulled", "Successfully pulled image %q in %s", name, time.Since(began).Round(time.Millisecond))
	}
	return found, err
}

// keychain returns the credentials of a pod: its imagePullSecrets, and then those of the user of this machine. A Secret
// that does not exist is ignored, as in the kubelet.
func keychain(ctx context.Context, d runtime.Pod) (authn.Keychain, error) {
	var secrets []credentials.Secret
	for _, reference := range d.Object.Spec.ImagePullSecrets {
		data, err := d.Environment.Secret(ctx, reference.Name, true)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, credentials.Secret{Name: d.Object.Namespace + "/" + reference.Name, Data: data})
	}
	own, err := credentials.Secrets(secrets...)
	if err != nil {
		return nil, err
	}
	return credentials.First(own, credentials.User()), nil
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
	if !known || found.err != nil {
		found = p.runtime.pull(ctx, d, name, c.ImagePullPolicy)
		p.images[name] = found
	}
	return found.Image, reasoned(found.err)
}

// reasoned adds the kubelet's reason to the error of a pull.
func reasoned(err error) error {
	if own := (runtime.Error{}); err == nil || errors.As(err, &own) {
		return err
	}
	if fault.Of(err) == fault.InvalidName {
		return runtime.Error{Reason: "InvalidImageName", Err: err}
	}
	return runtime.Error{Reason: runtime.ReasonImage, Err: err}
}
