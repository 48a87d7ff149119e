package node

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RuntimeAnnotation says on each pod whether it runs as a process or is simulated.
const RuntimeAnnotation = "strata.dev/runtime"

// Values of RuntimeAnnotation.
const (
	RuntimeProcess   = "process"
	RuntimeSimulated = "simulated"
)

// pod is a pod of this node and what runs it.
type pod struct {
	node      *Node
	namespace string
	dir       string
	// cancel ends the pod; done is closed when nothing of it runs any more.
	cancel context.CancelFunc
	done   chan struct{}
	// removing makes sure that the pod's object is removed once.
	removing sync.Once

	volumes sync.Mutex // held while volumes are written; guards tokens
	tokens  map[string]podToken
	// stale says that the volumes are to be written again.
	stale chan struct{}
	// watch begins to watch what the pod refers to, keep to bring it into the volumes; both are set when the pod starts.
	watch, keep func()

	publishing sync.Mutex // held while a status is computed and handed over

	mu         sync.Mutex
	object     *corev1.Pod
	inits      []*container
	containers []*container
	stopBy     time.Time   // when the grace period of the pod's end is over; zero while it is to run
	deadline   *time.Timer // ends the pod when its active deadline is over
	exceeded   bool        // the active deadline is over
	finished   bool
}

func newPod(n *Node, object *corev1.Pod) *pod {
	p := &pod{
		node:      n,
		namespace: object.Namespace,
		dir:       filepath.Join(n.pods, string(object.UID)),
		cancel:    func() {},
		done:      make(chan struct{}),
		tokens:    map[string]podToken{},
		stale:     make(chan struct{}, 1),
		object:    object.DeepCopy(),
	}
	for i := range object.Spec.InitContainers {
		p.inits = append(p.inits, newContainer(p, &object.Spec.InitContainers[i], true))
	}
	for i := range object.Spec.Containers {
		p.containers = append(p.containers, newContainer(p, &object.Spec.Containers[i], false))
	}
	p.annotate()
	return p
}

// all are the init containers and the containers.
func (p *pod) all() []*container { return slices.Concat(p.inits, p.containers) }

// current is the pod as the API server last showed it, with the status that this node last published. It is never
// changed in place.
func (p *pod) current() *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.object
}

// update takes over what the API server changed: labels, annotations, images, the active deadline, the mark of deletion.
func (p *pod) update(object *corev1.Pod) {
	p.mu.Lock()
	before := p.object
	p.object = object.DeepCopy()
	p.object.Status = before.Status
	p.annotate()
	for _, c := range p.all() {
		if spec := containerNamed(object, c.spec.Name); spec != nil && spec.Image != c.wanted {
			c.wanted = spec.Image
			poke(c.changed)
		}
	}
	p.armDeadline()
	p.mu.Unlock()
	if len(object.Spec.EphemeralContainers) > len(before.Spec.EphemeralContainers) {
		p.event(corev1.EventTypeWarning, "Failed", "ephemeral containers are not supported on this node")
	}
	// Labels and annotations may be in the volumes.
	poke(p.stale)
	if before.Generation != object.Generation {
		p.publish()
	}
}

// annotate says how the pod runs. The caller holds the lock, and the object is nobody else's yet.
func (p *pod) annotate() {
	if p.object.Annotations == nil {
		p.object.Annotations = map[string]string{}
	}
	p.object.Annotations[RuntimeAnnotation] = RuntimeSimulated
	if slices.ContainsFunc(p.all(), func(c *container) bool { return c.image != nil }) {
		p.object.Annotations[RuntimeAnnotation] = RuntimeProcess
	}
}

// ofJob says whether the pod belongs to a Job.
func (p *pod) ofJob() bool {
	owner := metav1.GetControllerOf(p.current())
	return owner != nil && owner.Kind == "Job"
}

// start runs the pod in the background until stop.
func (p *pod) start() {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.watch = sync.OnceFunc(func() { p.watchReferences(ctx) })
	p.keep = sync.OnceFunc(func() {
		p.watch()
		go p.keepVolumes(ctx)
	})
	p.mu.Lock()
	p.armDeadline()
	simulated := p.object.Annotations[RuntimeAnnotation] == RuntimeSimulated
	p.mu.Unlock()
	if !simulated {
		// What the API server shows may be of a run that ended with the node. What is simulated runs at once.
		p.publish()
	}
	go func() {
		defer close(p.done)
		defer cancel()
		p.run(ctx)
		p.mu.Lock()
		p.finished = true
		if p.deadline != nil {
			p.deadline.Stop()
		}
		p.mu.Unlock()
		p.publish()
		cancel()
		p.volumes.Lock()
		defer p.volumes.Unlock()
		_ = os.RemoveAll(p.dir)
	}()
}

// stop ends the pod and returns when nothing of it runs any more.
func (p *pod) stop() {
	p.beginEnd()
	p.cancel()
	<-p.done
}

func (p *pod) event(kind, reason, format string, args ...any) {
	p.node.recorder.Eventf(p.current(), kind, reason, format, args...)
}
