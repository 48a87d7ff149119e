// Package processes implements the runtime of the process catalogue: a container whose image is in the catalogue runs as
// a process of this machine, with the pod's own arguments, environment, volumes and service account.
package processes

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/local/machine/network"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/node/service"
	"github.com/strata-platform/strata/internal/local/machine/process"
)

// Runtime is the runtime of the process catalogue. All fields are required.
type Runtime struct {
	// Catalogue holds the images that run as processes.
	Catalogue Catalogue
	// Server is the URL of the API server.
	Server string
	// Processes starts the programs and reports their states.
	Processes *process.Set
	// Services gives the programs the addresses of Services.
	Services *service.Services
	// Network serves the pods' addresses to other pods.
	Network *network.Gateway

	mu   sync.Mutex
	pods map[types.UID]entered
}

// entered is a pod that the network serves.
type entered struct {
	name types.NamespacedName
	ip   netip.Addr
}

// Name implements runtime.Runtime.
func (*Runtime) Name() string { return runtime.Process }

// Executes returns true.
func (*Runtime) Executes() bool { return true }

// Find returns the catalogue's entry for an image. It fails if the catalogue has another tag.
func (r *Runtime) Find(pod *corev1.Pod, image string) (runtime.Image, error) {
	found, err := r.Catalogue.find(pod.Namespace, pod.Spec.ServiceAccountName, image)
	if found == nil || err != nil {
		return nil, err
	}
	return program{r, found}, nil
}

// Enter gives the pod an address at which other pods reach its processes.
func (r *Runtime) Enter(_ context.Context, p runtime.Pod) (netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.pods[p.Object.UID]; ok {
		return e.ip, nil
	}
	ip, err := r.Network.Reserve()
	if err != nil {
		return ip, err
	}
	name := types.NamespacedName{Namespace: p.Object.Namespace, Name: p.Object.Name}
	r.Network.ServePod(name, func(ctx context.Context, to network.Request) (net.Conn, error) {
		return p.Dial(ctx, int32(to.Endpoint.Port()))
	})
	if r.pods == nil {
		r.pods = map[types.UID]entered{}
	}
	r.pods[p.Object.UID] = entered{name, ip}
	return ip, nil
}

// Leave ends the service of the pod's address.
func (r *Runtime) Leave(pod types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.pods[pod]
	if !ok {
		return
	}
	delete(r.pods, pod)
	r.Network.ServePod(e.name, nil)
	r.Network.Free(e.ip)
}

// Forget removes the container from the supervisor's status, which then omits containers that have ended.
func (r *Runtime) Forget(namespace, pod, container string) {
	r.Processes.Forget(component(namespace, pod, container))
}

// component returns a container's name in the supervisor's status and in `strata logs`.
func component(namespace, pod, container string) string {
	return "pods/" + strings.Join([]string{namespace, pod, container}, "_")
}

// program is an image of the catalogue.
type program struct {
	runtime *Runtime
	image   *Image
}
