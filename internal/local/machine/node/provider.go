package node

import (
	"context"
	"sync"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/pod"
)

// provider implements virtual-kubelet's interfaces PodLifecycleHandler and PodNotifier.
type provider Node

// hosted is a pod that runs on the node.
type hosted struct {
	*pod.Pod
	// removing ensures that the node removes the pod's object only once.
	removing sync.Once
}

// podKey returns a pod's key in Node.running.
func podKey(namespace, name string) string { return namespace + "/" + name }

// CreatePod runs a pod.
func (v *provider) CreatePod(_ context.Context, object *corev1.Pod) error {
	p := &hosted{Pod: pod.New(v.host, object)}
	v.mu.Lock()
	v.running[podKey(object.Namespace, object.Name)] = p
	v.mu.Unlock()
	p.Start()
	return nil
}

// UpdatePod adopts a changed pod. virtual-kubelet identifies pods only by name. If a pod is deleted and created again
// with the same name, as in a StatefulSet, UpdatePod may get the new pod before the old one is gone.
func (v *provider) UpdatePod(ctx context.Context, object *corev1.Pod) error {
	p := v.pod(object.Namespace, object.Name)
	if p == nil {
		return nil
	}
	if p.Object().UID != object.UID {
		p.Stop()
		v.forget(p)
		return v.CreatePod(ctx, object)
	}
	p.Update(object)
	return nil
}

// DeletePod stops the pod in the background and then removes its object.
func (v *provider) DeletePod(ctx context.Context, object *corev1.Pod) error {
	p := v.pod(object.Namespace, object.Name)
	if p == nil || p.Object().UID != object.UID {
		return errdefs.NotFoundf("pod %s/%s is not on this node", object.Namespace, object.Name)
	}
	p.Update(object)
	p.removing.Do(func() { go v.remove(context.WithoutCancel(ctx), p) })
	return nil
}

// remove stops a pod and removes its object. It retries until it succeeds, because virtual-kubelet leaves the removal
// to the node.
func (v *provider) remove(ctx context.Context, p *hosted) {
	p.Stop()
	o := p.Object()
	v.forget(p)
	now := int64(0)
	options := metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: metav1.NewUIDPreconditions(string(o.UID))}
	for !v.closing.Load() {
		err := v.client.CoreV1().Pods(o.Namespace).Delete(ctx, o.Name, options)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(removeAgain):
		}
	}
}

// forget drops a stopped pod and its logs, unless a new pod of the same name has replaced it.
func (v *provider) forget(p *hosted) {
	o := p.Object()
	v.mu.Lock()
	defer v.mu.Unlock()
	if key := podKey(o.Namespace, o.Name); v.running[key] == p {
		p.RemoveLogs()
		delete(v.running, key)
	}
}

// removeAgain is the interval between attempts to remove the object of a stopped pod.
const removeAgain = time.Second

// GetPod returns a pod with its latest status.
func (v *provider) GetPod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	p := v.pod(namespace, name)
	if p == nil {
		return nil, errdefs.NotFoundf("pod %s/%s is not on this node", namespace, name)
	}
	return p.Object().DeepCopy(), nil
}

// GetPodStatus returns the latest status of a pod.
func (v *provider) GetPodStatus(ctx context.Context, namespace, name string) (*corev1.PodStatus, error) {
	object, err := v.GetPod(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return &object.Status, nil
}

// GetPods returns all pods that run on the node.
func (v *provider) GetPods(context.Context) ([]*corev1.Pod, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := make([]*corev1.Pod, 0, len(v.running))
	for _, p := range v.running {
		list = append(list, p.Object().DeepCopy())
	}
	return list, nil
}

// NotifyPods sets the function that reports new statuses. virtual-kubelet calls it before CreatePod.
func (v *provider) NotifyPods(_ context.Context, notify func(*corev1.Pod)) { v.notify = notify }

// pod returns a pod of this node, or nil.
func (v *provider) pod(namespace, name string) *hosted {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.running[podKey(namespace, name)]
}
