package node

import (
	"encoding/json"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/fake"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

func TestAStatusPatchRemovesDroppedFieldsOnly(t *testing.T) {
	o := nodetest.Pod(corev1.PodSpec{})
	o.Labels, o.Annotations = map[string]string{"app": "web"}, map[string]string{runtime.Annotation: runtime.Process, "note": "of somebody"}
	o.Status = corev1.PodStatus{Phase: corev1.PodRunning, Reason: "Why"}
	raw, err := statusPatch(o)
	if err != nil {
		t.Fatal(err)
	}
	var patch struct {
		Metadata map[string]any
		Status   map[string]any
	}
	if err := json.Unmarshal(raw, &patch); err != nil {
		t.Fatal(err)
	}
	if message, set := patch.Status["message"]; !set || message != nil || patch.Status["reason"] != "Why" {
		t.Errorf("the status is %v, want the reason and no message any more", patch.Status)
	}
	annotations := patch.Metadata["annotations"].(map[string]any)
	if reason, set := annotations[runtime.ReasonAnnotation]; len(annotations) != 2 || annotations[runtime.Annotation] != runtime.Process || !set || reason != nil {
		t.Errorf("the annotations are %v, want the runtime and no reason any more", annotations)
	}
	if patch.Metadata["labels"] != nil || patch.Metadata["uid"] != string(o.UID) {
		t.Errorf("the metadata are %v", patch.Metadata)
	}
}

func TestAStatusPatchReplacesTheAddresses(t *testing.T) {
	o := nodetest.Pod(corev1.PodSpec{})
	with := func(ip string) []byte {
		o.Status = corev1.PodStatus{PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, HostIPs: []corev1.HostIP{{IP: ip}}}
		o.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		patch, err := statusPatch(o)
		if err != nil {
			t.Fatal(err)
		}
		return patch
	}
	before := o.DeepCopy()
	before.Status = corev1.PodStatus{
		PodIP: "10.128.0.8", PodIPs: []corev1.PodIP{{IP: "10.128.0.8"}}, HostIPs: []corev1.HostIP{{IP: "10.128.0.8"}},
		Conditions: []corev1.PodCondition{{Type: "example.com/of-another", Status: corev1.ConditionTrue}},
	}
	raw, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := strategicpatch.StrategicMergePatch(raw, with("10.128.0.3"), corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	var after corev1.Pod
	if err := json.Unmarshal(merged, &after); err != nil {
		t.Fatal(err)
	}
	s := after.Status
	if s.PodIP != "10.128.0.3" || len(s.PodIPs) != 1 || s.PodIPs[0].IP != "10.128.0.3" || len(s.HostIPs) != 1 || len(s.Conditions) != 2 {
		t.Errorf("the status is %+v, want the new address alone, and both conditions", s)
	}
}

func TestAPodIsNotRemovedWhileItRuns(t *testing.T) {
	o := nodetest.Pod(corev1.PodSpec{Containers: nodetest.Containers("example.com/simulated", "a")})
	known := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	if err := known.Add(o); err != nil {
		t.Fatal(err)
	}
	n := newTestNode(t, fake.NewClientset(o), corev1listers.NewPodLister(known))
	if err := (*provider)(n).CreatePod(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	pods := podClient{n.client.CoreV1(), n}.Pods(o.Namespace)
	there := func() bool {
		_, err := n.client.CoreV1().Pods(o.Namespace).Get(t.Context(), o.Name, metav1.GetOptions{})
		return err == nil
	}
	if err := pods.Delete(t.Context(), o.Name, metav1.DeleteOptions{}); err != nil || !there() {
		t.Fatalf("a pod that nobody named by its UID: removed %v, error %v", !there(), err)
	}
	uid := types.UID("of another")
	if err := pods.Delete(t.Context(), "another", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err == nil {
		t.Error("a pod that is not on this node is not asked for at the API server")
	}
	if err := pods.Delete(t.Context(), o.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &o.UID}}); err != nil {
		t.Fatal(err)
	}
	nodetest.Eventually(t, "the object is gone", func() error {
		if there() {
			return errors.New("it is there")
		}
		return nil
	})
}
