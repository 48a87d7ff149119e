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

// RuntimeAnnotation is the annotation that says whether a pod runs as a process or is simulated.
const RuntimeAnnotation = "strata.dev/runtime"

// These are the values of RuntimeAnnotation.
const (
	RuntimeProcess   = "process"
	RuntimeSimulated = "simulated"
)

// pod runs one pod of this node.
type pod struct {
	node      *Node
	namespace string
	dir       string
	// cancel ends the pod. done closes when all of the pod's containers have ended.
	cancel context.CancelFunc
	done   chan struct{}
	// removing ensures that the node removes the pod's object only once.
	removing sync.Once

	volumes sync.Mutex // held while the node writes volumes; guards tokens
	tokens  map[string]podToken
	// stale signals that the node must rewrite the volumes.
	stale chan struct{}
	// watch starts to watch the objects that the pod refers to. keep starts to update the volumes. The pod's start
	// sets both.
	watch, keep func()

	publishing sync.Mutex // held while a status is computed and sent

	mu         sync.Mutex
	object     *corev1.Pod
	inits      []*container
	containers []*container
	stopBy     time.Time   // end of the pod's grace period; zero while the pod is to run
	deadline   *time.Timer // ends the pod at its active deadline
	exceeded   bool        // the pod has exceeded its active deadline
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

// all returns the init containers and the containers.
func (p *pod) all() []*container { return slices.Concat(p.inits, p.containers) }

// current returns the pod's latest object from the API server, with the status that this node last published. Callers
// must not modify the object.
func (p *pod) current() *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.object
}

// update adopts a changed object from the API server: its labels, annotations, images, active deadline and deletion
// timestamp.
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
	// Volumes may contain labels and annotations.
	poke(p.stale)
	if before.Generation != object.Generation {
		p.publish()
	}
}

// annotate sets RuntimeAnnotation. The caller must hold the lock and have the only reference to the object.
func (p *pod) annotate() {
	if p.object.Annotations == nil {
		p.object.Annotations = map[string]string{}
	}
	p.object.Annotations[RuntimeAnnotation] = RuntimeSimulated
	if slices.ContainsFunc(p.all(), func(c *container) bool { return c.image != nil }) {
		p.object.Annotations[RuntimeAnnotation] = RuntimeProcess
	}
}

// ofJob reports whether the pod belongs to a Job.
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
		// The API server may still show a run that ended with an earlier node. A simulated pod runs at once.
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

// stop ends the pod and returns when all of its containers have ended.
func (p *pod) stop() {
	p.beginEnd()
	p.cancel()
	<-p.done
}

func (p *pod) event(kind, reason, format string, args ...any) {
	p.node.recorder.Eventf(p.current(), kind, reason, format, args...)
}
