package node

import (
	"context"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
)

type runtimeObject = kruntime.Object

// provider implements virtual-kubelet's interfaces PodLifecycleHandler and PodNotifier.
type provider Node

func (v *provider) node() *Node { return (*Node)(v) }

func podKey(namespace, name string) string { return namespace + "/" + name }

func (v *provider) CreatePod(_ context.Context, object *corev1.Pod) error {
	p := newPod(v.node(), object)
	v.mu.Lock()
	v.running[podKey(object.Namespace, object.Name)] = p
	v.mu.Unlock()
	p.start()
	return nil
}

// UpdatePod adopts a changed pod. virtual-kubelet identifies pods only by name. If a pod is deleted and created again
// with the same name, as in a StatefulSet, UpdatePod may get the new pod before the old one is gone.
func (v *provider) UpdatePod(ctx context.Context, object *corev1.Pod) error {
	p := v.pod(object.Namespace, object.Name)
	if p == nil {
		return nil
	}
	if p.current().UID != object.UID {
		p.stop()
		v.forget(p)
		return v.CreatePod(ctx, object)
	}
	p.update(object)
	return nil
}

// DeletePod stops the pod in the background and then removes its object.
func (v *provider) DeletePod(ctx context.Context, object *corev1.Pod) error {
	p := v.pod(object.Namespace, object.Name)
	if p == nil || p.current().UID != object.UID {
		return errdefs.NotFoundf("pod %s/%s is not on this node", object.Namespace, object.Name)
	}
	p.update(object)
	p.removing.Do(func() { go v.remove(context.WithoutCancel(ctx), p) })
	return nil
}

// remove stops a pod and removes its object. It retries until it succeeds, because virtual-kubelet leaves the removal
// to the node.
func (v *provider) remove(ctx context.Context, p *pod) {
	p.stop()
	o := p.current()
	v.forget(p)
	now := int64(0)
	options := metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: metav1.NewUIDPreconditions(string(o.UID))}
	for !v.closing.Load() {
		err := v.client.CoreV1().Pods(o.Namespace).Delete(ctx, o.Name, options)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		wait(ctx, removeAgain)
	}
}

// forget drops a stopped pod and its logs, unless a new pod of the same name has replaced it.
func (v *provider) forget(p *pod) {
	o := p.current()
	v.mu.Lock()
	defer v.mu.Unlock()
	if key := podKey(o.Namespace, o.Name); v.running[key] == p {
		p.removeLogs()
		delete(v.running, key)
	}
}

// removeAgain is the interval between attempts to remove the object of a stopped pod.
const removeAgain = time.Second

func (v *provider) GetPod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	p := v.pod(namespace, name)
	if p == nil {
		return nil, errdefs.NotFoundf("pod %s/%s is not on this node", namespace, name)
	}
	return p.current().DeepCopy(), nil
}

func (v *provider) GetPodStatus(ctx context.Context, namespace, name string) (*corev1.PodStatus, error) {
	object, err := v.GetPod(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return &object.Status, nil
}

func (v *provider) GetPods(context.Context) ([]*corev1.Pod, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := make([]*corev1.Pod, 0, len(v.running))
	for _, p := range v.running {
		list = append(list, p.current().DeepCopy())
	}
	return list, nil
}

func (v *provider) NotifyPods(_ context.Context, notify func(*corev1.Pod)) { v.notify = notify }

func (v *provider) pod(namespace, name string) *pod {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.running[podKey(namespace, name)]
}
