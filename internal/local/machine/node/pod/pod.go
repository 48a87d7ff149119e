// Package pod runs one pod of the node: its containers in Kubernetes' order, with their restarts, probes and hooks, and
// its status.
package pod

import (
	"context"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/strata-platform/strata/internal/local/machine/node/environment"
	"github.com/strata-platform/strata/internal/local/machine/node/logs"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/node/volume"
	"github.com/strata-platform/strata/internal/local/machine/storage"
)

// Host is the node of a pod. All fields are required.
type Host struct {
	// Client has the rights of the node.
	Client kubernetes.Interface
	// IP is the address of the node in the network of the pods.
	IP netip.Addr
	// DialAs connects to an address on behalf of a pod. The connection ends with ctx.
	DialAs func(ctx context.Context, pod types.NamespacedName, to netip.AddrPort) (net.Conn, error)
	// Services lists the Services of the cluster.
	Services func() ([]*corev1.Service, error)
	// Runtimes run the containers.
	Runtimes runtime.List
	// Dir is the folder of the pods' files: each pod has a folder named after its UID.
	Dir string
	// Volumes is the folder of the persistent volumes.
	Volumes storage.Folder
	// Logs holds the containers' logs.
	Logs  logs.Folder
	Clock clock.Clock
	// Events records events about the pods.
	Events record.EventRecorder
	// Notify reports a pod's object with its new status. It must not call the pod.
	Notify func(*corev1.Pod)
	// Closing reports whether the node itself stops.
	Closing func() bool
}

// Pod is one pod of the node. Its methods may be called concurrently.
type Pod struct {
	host Host
	dir  string
	// cancel ends the pod. done closes when all of the pod's containers have ended.
	cancel      context.CancelFunc
	done        chan struct{}
	environment environment.Resolver
	volumes     *volume.Volumes
	// watch starts to watch the objects that the pod refers to. Start sets it.
	watch func()
	// later asks a runtime again that has declined the pod. Start sets it.
	later func(runtime.Runtime)

	publishing sync.Mutex // held while a status is computed and sent

	entering sync.Mutex // held while a runtime prepares the pod

	mu         sync.Mutex
	object     *corev1.Pod
	ip         netip.Addr       // zero: the pod has no address
	declined   map[string]error // the reasons of the runtimes that do not run the pod, by the runtime's name
	inits      []*container
	containers []*container
	ephemerals ephemerals
	stopBy     time.Time   // end of the pod's grace period; zero while the pod is to run
	deadline   *time.Timer // ends the pod at its active deadline
	exceeded   bool        // the pod has exceeded its active deadline
	evicted    string      // why the node has evicted the pod, or ""
	finished   bool        // all containers have ended
}

// New returns a pod that does not run yet. The object's status may come from an earlier node: containers that ended for
// good then do not run again.
func New(host Host, object *corev1.Pod) *Pod {
	p := &Pod{
		host:   host,
		dir:    filepath.Join(host.Dir, string(object.UID)),
		cancel: func() {},
		done:   make(chan struct{}),
		object: object.DeepCopy(),

		declined: map[string]error{},
	}
	p.environment = environment.Resolver{Client: host.Client, Pod: p.Object, IP: p.ownIP, HostIP: p.hostIP, Services: host.Services}
	p.volumes = volume.New(p.environment, p.dir, host.Volumes, host.Clock, func(err error) {
		p.event(corev1.EventTypeWarning, "FailedMount", "%v", err)
	})
	for i := range object.Spec.InitContainers {
		p.inits = append(p.inits, newContainer(p, &object.Spec.InitContainers[i], true))
	}
	for i := range object.Spec.Containers {
		p.containers = append(p.containers, newContainer(p, &object.Spec.Containers[i], false))
	}
	p.annotate()
	p.adoptEphemerals()
	return p
}

// all returns the init containers and the containers.
func (p *Pod) all() []*container { return slices.Concat(p.inits, p.containers) }

// Object returns the pod's latest object from the API server, with the status that this node last published. Callers
// must not modify the object.
func (p *Pod) Object() *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.object
}

// Update adopts a changed object from the API server: its labels, annotations, images, active deadline and deletion
// timestamp. The object must have the UID of the pod.
func (p *Pod) Update(object *corev1.Pod) {
	p.mu.Lock()
	before := p.object
	p.object = object.DeepCopy()
	p.object.Status = before.Status
	p.annotate()
	for _, c := range p.all() {
		if spec := environment.Container(object, c.spec.Name); spec != nil && spec.Image != c.wanted {
			c.wanted = spec.Image
			signal(c.changed)
		}
	}
	p.adoptEphemerals()
	p.armDeadline()
	p.mu.Unlock()
	// Volumes may contain labels and annotations.
	p.volumes.Refresh()
	if before.Generation != object.Generation {
		p.publish()
	}
}

// annotate sets the annotation of the runtime. The caller must hold the lock and have the only reference to the object.
func (p *Pod) annotate() {
	if p.object.Annotations == nil {
		p.object.Annotations = map[string]string{}
	}
	used := make([]runtime.Runtime, 0, len(p.inits)+len(p.containers))
	for _, c := range p.all() {
		used = append(used, c.choice.Runtime)
	}
	name := p.host.Runtimes.Name(used)
	p.object.Annotations[runtime.Annotation] = name
	delete(p.object.Annotations, runtime.ReasonAnnotation)
	for _, c := range p.all() {
		if name == runtime.Simulated && c.choice.Declined != nil {
			p.object.Annotations[runtime.ReasonAnnotation] = c.choice.Declined.Error()
		}
	}
}

// Start runs the pod in the background until Stop.
func (p *Pod) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.watch = sync.OnceFunc(func() { p.watchReferences(ctx) })
	p.later = func(r runtime.Runtime) { go p.askAgain(ctx, r) }
	p.volumes.Start(ctx, p.watch)
	p.mu.Lock()
	p.armDeadline()
	simulated := p.object.Annotations[runtime.Annotation] == runtime.Simulated
	p.mu.Unlock()
	if !simulated {
		// The API server may still show a run that ended with an earlier node. A simulated pod runs at once.
		p.publish()
	}
	go func() {
		defer close(p.done)
		defer cancel()
		p.runEphemerals(ctx)
		p.run(ctx)
		cancel()
		p.awaitEphemerals()
		p.mu.Lock()
		p.finished = true
		if p.deadline != nil {
			p.deadline.Stop()
		}
		p.mu.Unlock()
		p.publish()
		p.host.Runtimes.Leave(p.Object().UID)
		_ = p.volumes.Remove()
	}()
}

// watchReferences makes the volumes and the waiting containers adopt changed Secrets and ConfigMaps until ctx is done.
func (p *Pod) watchReferences(ctx context.Context) {
	specs := make([]*corev1.Container, 0, len(p.inits)+len(p.containers))
	for _, c := range p.all() {
		specs = append(specs, c.spec)
	}
	p.environment.Watch(ctx, specs, func() {
		p.volumes.Refresh()
		for _, c := range p.everyone() {
			signal(c.retry)
		}
	})
}

// Stop ends the pod and returns when all of its containers have ended. The pod must have been started.
func (p *Pod) Stop() {
	p.beginEnd()
	p.cancel()
	<-p.done
}

// RemoveLogs removes the logs of the pod's containers.
func (p *Pod) RemoveLogs() {
	for _, c := range p.everyone() {
		logs.Remove(c.log())
	}
}

// event records an event about the pod.
func (p *Pod) event(kind, reason, format string, args ...any) {
	p.host.Events.Eventf(p.Object(), kind, reason, format, args...)
}

// signal sends a signal to a channel with a buffer of one. A pending signal covers the new one: the receiver looks
// itself for the changes.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
