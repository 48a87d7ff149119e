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

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// podClient is virtual-kubelet's client for pods. It limits virtual-kubelet's writes to those of a kubelet.
type podClient struct {
	typedcorev1.PodsGetter
	node *Node
}

// Pods returns the client for the pods of a namespace.
func (c podClient) Pods(namespace string) typedcorev1.PodInterface {
	return podsClient{c.PodsGetter.Pods(namespace), (*provider)(c.node), namespace}
}

// podsClient is the client for the pods of one namespace.
type podsClient struct {
	typedcorev1.PodInterface
	provider  *provider
	namespace string
}

// UpdateStatus patches the status and the runtime's annotation. It keeps labels and annotations that changed meanwhile,
// and the conditions that other clients set.
func (c podsClient) UpdateStatus(ctx context.Context, pod *corev1.Pod, _ metav1.UpdateOptions) (*corev1.Pod, error) {
	patch, err := statusPatch(pod)
	if err != nil {
		return nil, err
	}
	return c.Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
}

// statusPatch returns a strategic merge patch of the status and of the runtime's annotation. The UID makes the patch fail
// for a new pod of the same name.
func statusPatch(pod *corev1.Pod) ([]byte, error) {
	raw, err := json.Marshal(pod.Status)
	if err != nil {
		return nil, fmt.Errorf("encode the patch of the pod's status: %w", err)
	}
	status := map[string]any{}
	if err := json.Unmarshal(raw, &status); err != nil {
		return nil, fmt.Errorf("encode the patch of the pod's status: %w", err)
	}
	// JSON omits empty fields. A null makes the patch remove the field of the old status.
	for _, field := range []string{"reason", "message"} {
		if _, set := status[field]; !set {
			status[field] = nil
		}
	}
	// A strategic merge patch adds the addresses of a list to the old ones, and the API server rejects two addresses of one
	// family: then a pod that gets another address after a restart of the node would keep its old status.
	for _, field := range []string{"podIPs", "hostIPs"} {
		if addresses, set := status[field].([]any); set {
			status[field] = append(addresses, map[string]any{"$patch": "replace"})
		}
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "annotations": annotations(pod)},
		"status":   status,
	})
}

// annotations returns the annotations that the node owns. A null removes one.
func annotations(pod *corev1.Pod) map[string]any {
	owned := map[string]any{}
	for _, name := range []string{runtime.Annotation, runtime.ReasonAnnotation} {
		owned[name] = nil
		if value, set := pod.Annotations[name]; set {
			owned[name] = value
		}
	}
	return owned
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
