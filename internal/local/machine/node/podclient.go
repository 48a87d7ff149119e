package node

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// podClient is virtual-kubelet's client for pods. It limits virtual-kubelet's writes to those of a kubelet.
type podClient struct {
	typedcorev1.PodsGetter
	node *Node
}

func (c podClient) Pods(namespace string) typedcorev1.PodInterface {
	return podsClient{c.PodsGetter.Pods(namespace), (*provider)(c.node), namespace}
}

type podsClient struct {
	typedcorev1.PodInterface
	provider  *provider
	namespace string
}

// UpdateStatus writes only the status that the node knows. It leaves alone labels and annotations changed meanwhile,
// and the conditions that others set.
func (c podsClient) UpdateStatus(ctx context.Context, pod *corev1.Pod, _ metav1.UpdateOptions) (*corev1.Pod, error) {
	patch, err := statusPatch(pod)
	if err != nil {
		return nil, err
	}
	return c.Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
}

func statusPatch(pod *corev1.Pod) ([]byte, error) {
	raw, err := json.Marshal(pod.Status)
	if err != nil {
		return nil, fmt.Errorf("patch of the status: %w", err)
	}
	status := map[string]any{}
	if err := json.Unmarshal(raw, &status); err != nil {
		return nil, fmt.Errorf("patch of the status: %w", err)
	}
	// A null removes a field that the new status lacks.
	for _, field := range []string{"reason", "message"} {
		if _, said := status[field]; !said {
			status[field] = nil
		}
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "annotations": map[string]string{RuntimeAnnotation: pod.Annotations[RuntimeAnnotation]}},
		"status":   status,
	})
}

// Delete removes the object of a pod that is not on this node. It stops a pod of this node first, because
// virtual-kubelet would remove the object before the processes end.
func (c podsClient) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	if options.Preconditions == nil || options.Preconditions.UID == nil {
		// virtual-kubelet means an earlier pod of this name, which is gone.
		return nil
	}
	object, err := c.provider.lister.Pods(c.namespace).Get(name)
	if err == nil && object.UID == *options.Preconditions.UID {
		if err := c.provider.DeletePod(ctx, object); !errdefs.IsNotFound(err) {
			return err
		}
	}
	return c.PodInterface.Delete(ctx, name, options)
}
