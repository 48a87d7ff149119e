// Package sandboxed implements the runtime of OCI images: each pod is a sandbox of gVisor, with a network interface and an
// address of its own.
package sandboxed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/network"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/podnetwork/google"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
)

// Options configures the runtime. All fields are required, except Output.
type Options struct {
	// Images are the images of the home.
	Images *images.Images
	// Network connects the pods.
	Network *network.Gateway
	// Runsc returns the path of gVisor's runsc, and builds it first if necessary.
	Runsc func(ctx context.Context) (string, error)
	// Google is how pods reach the emulated Google Cloud. The zero value changes nothing.
	Google google.Access
	// Output gets what the helper process of the sandboxes prints.
	Output io.Writer
	Log    *slog.Logger
}

// Runtime is the runtime of sandboxed pods. Its methods may be called concurrently.
type Runtime struct {
	options Options
	// unsupported says why this machine runs no sandboxes, or is nil.
	unsupported error

	starting sync.Mutex // held while the host starts; guards host
	host     *sandboxes.Host

	mu   sync.Mutex
	pods map[types.UID]*pod
}

// New returns the runtime. It asks the machine whether it runs sandboxes; if not, the runtime declines every image. The
// caller must close the runtime.
func New(ctx context.Context, o Options) (*Runtime, error) {
	r := &Runtime{options: o, pods: map[types.UID]*pod{}}
	err := sandboxes.Probe(ctx)
	if unsupported, ok := errors.AsType[*sandboxes.UnsupportedError](err); ok {
		r.unsupported = unsupported
		return r, nil
	}
	return r, err
}

// Close ends all sandboxes.
func (r *Runtime) Close() {
	r.starting.Lock()
	defer r.starting.Unlock()
	if r.host != nil {
		r.host.Close()
	}
}

// Unsupported returns the reason why this machine runs no sandboxes, or nil.
func (r *Runtime) Unsupported() error { return r.unsupported }

// Name implements runtime.Runtime.
func (*Runtime) Name() string { return runtime.Sandboxed }

// Executes returns true.
func (*Runtime) Executes() bool { return true }

// Find returns an image for every name. It declines pods that need the machine itself, because a sandbox hides it.
func (r *Runtime) Find(object *corev1.Pod, name string) (runtime.Image, error) {
	if r.unsupported != nil {
		return nil, runtime.Declined{Err: r.unsupported}
	}
	if why := needsMachine(object); why != "" {
		return nil, runtime.Declined{Err: fmt.Errorf("it asks for %s, which a sandbox does not have", why)}
	}
	return image{r, name}, nil
}

// needsMachine names what a pod wants of the machine, or returns "".
func needsMachine(object *corev1.Pod) string {
	spec := &object.Spec
	switch {
	case spec.HostNetwork:
		return "the network of the machine (hostNetwork)"
	case spec.HostPID || spec.HostIPC:
		return "the processes of the machine (hostPID, hostIPC)"
	case spec.OS != nil && spec.OS.Name != corev1.Linux:
		return "the operating system " + string(spec.OS.Name)
	}
	for _, v := range spec.Volumes {
		if v.HostPath != nil {
			return "a folder of the machine (hostPath)"
		}
	}
	return ""
}

// Enter pulls the images of the pod, creates its sandbox, and connects it to the network. It declines the pod if a
// registry does not answer.
func (r *Runtime) Enter(ctx context.Context, d runtime.Pod) (netip.Addr, error) {
	r.mu.Lock()
	p := r.pods[d.Object.UID]
	if p == nil {
		p = &pod{runtime: r, images: map[string]pulled{}}
		r.pods[d.Object.UID] = p
	}
	r.mu.Unlock()
	return p.enter(ctx, d)
}

// Leave removes the pod's sandbox.
func (r *Runtime) Leave(id types.UID) {
	r.mu.Lock()
	p := r.pods[id]
	delete(r.pods, id)
	r.mu.Unlock()
	if p != nil {
		p.leave()
	}
}

// Forget does nothing: a run removes its container itself.
func (*Runtime) Forget(string, string, string) {}

// start returns the host of the sandboxes. It starts the host for the first pod, and again after a failure of the host.
func (r *Runtime) start(ctx context.Context) (*sandboxes.Host, error) {
	r.starting.Lock()
	defer r.starting.Unlock()
	if r.host != nil {
		select {
		case <-r.host.Done():
			r.options.Log.Error("the sandboxes have ended", "error", r.host.Err())
		default:
			return r.host, nil
		}
	}
	runsc, err := r.options.Runsc(ctx)
	if err != nil {
		return nil, err
	}
	host, err := sandboxes.Start(ctx, sandboxes.Options{Runsc: runsc, Log: r.options.Output})
	if _, ok := errors.AsType[*sandboxes.UnsupportedError](err); ok {
		return nil, runtime.Declined{Err: err}
	}
	if err != nil {
		return nil, err
	}
	r.host = host
	return host, nil
}
