package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/strata-platform/strata/internal/local/home"
)

// RuntimeAnnotation says on each pod whether it runs as a process or is simulated.
const RuntimeAnnotation = "strata.dev/runtime"

// Values of RuntimeAnnotation.
const (
	RuntimeProcess   = "process"
	RuntimeSimulated = "simulated"
)

// refreshVolumes is how often the volumes of running pods are written again, as often as the kubelet does.
const refreshVolumes = time.Minute

// kubeconfigFile lies beside the service account's token.
const kubeconfigFile = "kubeconfig"

// pod is a pod of this node and what runs it.
type pod struct {
	node *Node
	dir  string
	// cancel ends the pod; done is closed when nothing of it runs any more.
	cancel context.CancelFunc
	done   chan struct{}

	volumes sync.Mutex // held while volumes are written; guards tokens
	tokens  map[string]podToken

	publishing sync.Mutex // held while a status is computed and handed over

	mu         sync.Mutex
	object     *corev1.Pod
	inits      []*container
	containers []*container
	failure    string // why the pod can never run; empty while it can
	finished   bool
}

func newPod(n *Node, object *corev1.Pod) *pod {
	p := &pod{
		node:   n,
		dir:    filepath.Join(n.pods, string(object.UID)),
		done:   make(chan struct{}),
		tokens: map[string]podToken{},
		object: object.DeepCopy(),
	}
	p.inits = p.newContainers(object.Spec.InitContainers)
	p.containers = p.newContainers(object.Spec.Containers)
	runtime := RuntimeSimulated
	if p.isProcess() {
		runtime = RuntimeProcess
	}
	if p.object.Annotations == nil {
		p.object.Annotations = map[string]string{}
	}
	p.object.Annotations[RuntimeAnnotation] = runtime
	return p
}

// current is the pod as the API server last showed it, with the status that this node last published. It is never
// changed in place.
func (p *pod) current() *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.object
}

// update takes over what the API server changed: labels, annotations, the mark of deletion.
func (p *pod) update(object *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	object = object.DeepCopy()
	object.Status = p.object.Status
	if object.Annotations == nil {
		object.Annotations = map[string]string{}
	}
	object.Annotations[RuntimeAnnotation] = p.object.Annotations[RuntimeAnnotation]
	p.object = object
}

func (p *pod) newContainers(specs []corev1.Container) []*container {
	list := make([]*container, len(specs))
	for i := range specs {
		image, err := p.node.catalogue.find(p.object.Namespace, p.object.Spec.ServiceAccountName, specs[i].Image)
		if err != nil {
			p.failure = err.Error()
		}
		list[i] = &container{pod: p, spec: specs[i].DeepCopy(), image: image}
		list[i].state.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
		list[i].restoreRestarts()
	}
	return list
}

// restoreRestarts counts on from what the API server knows: a pod outlives a restart of the node.
func (c *container) restoreRestarts() {
	status := c.pod.object.Status
	for _, s := range append(slices.Clone(status.ContainerStatuses), status.InitContainerStatuses...) {
		if s.Name != c.spec.Name {
			continue
		}
		c.restarts, c.last = s.RestartCount, s.LastTerminationState
		if s.State.Running != nil && c.image != nil {
			c.restarts++
			c.last = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				Reason: "NodeRestarted", ExitCode: 137, Message: "the node was restarted", StartedAt: s.State.Running.StartedAt, FinishedAt: metav1.Now(),
			}}
		}
	}
}

func (p *pod) isProcess() bool {
	return slices.ContainsFunc(append(slices.Clone(p.inits), p.containers...), func(c *container) bool { return c.image != nil })
}

// completes says whether a simulated pod ends by itself: those of a Job do.
func (p *pod) completes() bool {
	owner := metav1.GetControllerOf(p.current())
	return owner != nil && owner.Kind == "Job"
}

func (p *pod) grace() time.Duration {
	seconds := int64(30)
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.object.Spec.TerminationGracePeriodSeconds; s != nil {
		seconds = *s
	}
	if s := p.object.DeletionGracePeriodSeconds; s != nil {
		seconds = *s
	}
	grace := time.Duration(seconds) * time.Second
	if p.node.closing.Load() {
		grace = min(grace, closingGrace)
	}
	return grace
}

// start runs the pod in the background until stop.
func (p *pod) start() {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() {
		defer close(p.done)
		defer cancel()
		p.run(ctx)
		p.mu.Lock()
		p.finished = true
		p.mu.Unlock()
		p.publish()
		_ = os.RemoveAll(p.dir)
	}()
}

// stop ends the pod and returns when nothing of it runs any more.
func (p *pod) stop() {
	p.cancel()
	<-p.done
}

func (p *pod) run(ctx context.Context) {
	if p.failure != "" {
		p.event(corev1.EventTypeWarning, "Failed", "%s", p.failure)
		for _, c := range append(slices.Clone(p.inits), p.containers...) {
			c.waiting("ErrImagePull", p.failure)
		}
		<-ctx.Done()
		return
	}
	if p.isProcess() {
		go p.keepVolumes(ctx)
	} else {
		p.event(corev1.EventTypeNormal, "Simulated", "this node runs no containers: the pod is simulated")
	}
	var group sync.WaitGroup
	defer group.Wait()
	for _, c := range p.inits {
		if c.spec.RestartPolicy != nil && *c.spec.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			group.Go(func() { c.run(ctx, corev1.RestartPolicyAlways) })
			continue
		}
		policy := p.current().Spec.RestartPolicy
		if policy == corev1.RestartPolicyAlways {
			policy = corev1.RestartPolicyOnFailure
		}
		if !p.runInit(ctx, c, policy) {
			return
		}
	}
	var main sync.WaitGroup
	for _, c := range p.containers {
		main.Go(func() { c.run(ctx, p.current().Spec.RestartPolicy) })
	}
	main.Wait()
	// Sidecars end with the containers that they serve.
	p.cancel()
}

// runInit runs an init container to its end; false means that the pod goes no further.
func (p *pod) runInit(ctx context.Context, c *container, policy corev1.RestartPolicy) bool {
	if c.image == nil {
		now := time.Now()
		c.running(now)
		c.terminated(nil, now)
		return true
	}
	return c.run(ctx, policy) == 0 && ctx.Err() == nil
}

// prepare writes the volumes and, beside a service account's token, a kubeconfig that uses it. Programs that find
// their cluster by the in-cluster files and variables find it by KUBECONFIG here.
func (p *pod) prepare(ctx context.Context) error {
	p.volumes.Lock()
	defer p.volumes.Unlock()
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	if err := p.fillVolumes(ctx); err != nil {
		return err
	}
	for _, c := range p.current().Spec.Containers {
		if dir := p.mountedAt(&c, serviceAccountDir); dir != "" {
			if err := p.writeKubeconfig(dir); err != nil {
				return fmt.Errorf("kubeconfig of the pod: %w", err)
			}
		}
	}
	return nil
}

func (p *pod) writeKubeconfig(dir string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: p.node.server, CertificateAuthority: filepath.Join(dir, "ca.crt")}
	config.AuthInfos["pod"] = &clientcmdapi.AuthInfo{TokenFile: filepath.Join(dir, "token")}
	config.Contexts["pod"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "pod", Namespace: p.current().Namespace}
	config.CurrentContext = "pod"
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return home.WriteFile(filepath.Join(dir, kubeconfigFile), raw)
}

// keepVolumes brings changed Secrets, ConfigMaps and fresh tokens into the pod while it runs.
func (p *pod) keepVolumes(ctx context.Context) {
	for wait(ctx, refreshVolumes) {
		if err := p.prepare(ctx); err != nil && ctx.Err() == nil {
			p.event(corev1.EventTypeWarning, "FailedMount", "%v", err)
		}
	}
}

func (p *pod) event(kind, reason, format string, args ...any) {
	p.node.recorder.Eventf(p.current(), kind, reason, format, args...)
}
