// Package simulated implements the runtime of the images that no other runtime runs. It executes nothing: containers
// wait for their Secrets and ConfigMaps and then appear to run, or to complete.
package simulated

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// Runtime is the simulated runtime. It runs every image. The zero value is ready to use.
type Runtime struct{}

// Name implements runtime.Runtime.
func (Runtime) Name() string { return runtime.Simulated }

// Executes returns false: a simulated container has no program.
func (Runtime) Executes() bool { return false }

// Find returns an image for every name. It never fails.
func (Runtime) Find(*corev1.Pod, string) (runtime.Image, error) { return image{}, nil }

// Enter does nothing. A simulated pod has no address.
func (Runtime) Enter(context.Context, runtime.Pod) (netip.Addr, error) { return netip.Addr{}, nil }

// Leave does nothing.
func (Runtime) Leave(types.UID) {}

// Forget does nothing, because the runtime keeps no records.
func (Runtime) Forget(string, string, string) {}

// image is any image.
type image struct{}

// Start fails while a Secret, ConfigMap or key of the container does not exist, as on a real node.
func (image) Start(ctx context.Context, c runtime.Container) (runtime.Run, error) {
	if err := c.Environment.Missing(ctx, c.Spec); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	r := run{done: done, stop: sync.OnceFunc(func() { close(done) })}
	if completes(c) {
		r.stop()
	}
	return r, nil
}

// completes reports whether Kubernetes expects the container to complete: an init container, and a container of a Job.
func completes(c runtime.Container) bool {
	if c.Init {
		return !c.IsSidecar()
	}
	owner := metav1.GetControllerOf(c.Object)
	return owner != nil && owner.Kind == "Job"
}

// run is a simulated run. stop closes done. It runs at the start if the container completes.
type run struct {
	done <-chan struct{}
	stop func()
}

func (r run) Done() <-chan struct{} { return r.done }

func (run) Exit() runtime.Exit { return runtime.Exit{} }

func (run) ImageID() string { return runtime.ImageID(runtime.Simulated) }

func (r run) Stop(time.Duration) { r.stop() }

func (run) Exec(context.Context, []string) error { return errors.ErrUnsupported }

func (run) Listens(int32) bool { return false }

func (run) Address(int32) string { return "" }

func (run) Dial(context.Context, int32) (net.Conn, error) {
	return nil, errors.New("a simulated container listens on no port")
}
