package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// setImage changes a pod's image like kubectl set image.
func (c *cluster) setImage(t *testing.T, namespace, pod, container, image string) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec": {"containers": [{"name": %q, "image": %q}]}}`, container, image)
	if _, err := c.CoreV1().Pods(namespace).Patch(t.Context(), pod, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestAnImageThatChangesInPlaceRestartsItsContainerOnly(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	other := guest("report")
	other.Name = "other"
	made := c.create(t, ns, "app", corev1.PodSpec{Containers: []corev1.Container{guest("report"), other}})
	c.waitPod(t, ns, "app", "it is ready", isReady)
	processes := c.processesOf(string(made.UID))

	c.setImage(t, ns, "app", "guest", otherGuestImage)
	p := c.waitPod(t, ns, "app", "it runs the other image", func(p *corev1.Pod) error {
		if p.Status.ContainerStatuses[0].Image != otherGuestImage {
			return errors.New(nodetest.Describe(p.Status))
		}
		return isReady(p)
	})
	if got := c.reported(t, ns, "app").Env["FROM_IMAGE"]; got != "other image" {
		t.Errorf("the program has the environment of %q", got)
	}
	if changed, left := p.Status.ContainerStatuses[0].RestartCount, p.Status.ContainerStatuses[1].RestartCount; changed != 1 || left != 0 {
		t.Errorf("the container was restarted %d times, the other %d times", changed, left)
	}
	same := 0
	for pid := range c.processesOf(string(made.UID)) {
		if processes[pid] != nil {
			same++
		}
	}
	if same != 1 {
		t.Errorf("%d processes of before run, want 1", same)
	}

	c.setImage(t, ns, "app", "guest", guestRepository+":v9")
	p = c.waitPod(t, ns, "app", "it says that there is no such image", func(p *corev1.Pod) error {
		if !isWaiting(p.Status.ContainerStatuses[0], "ErrImagePull") {
			return errors.New(nodetest.Describe(p.Status))
		}
		return nil
	})
	if !strings.Contains(p.Status.Message, "use the tag v1") || isReady(p) == nil || p.Annotations[runtime.Annotation] != runtime.Process {
		t.Errorf("the status is %s, ready: %v, annotations %v", nodetest.Describe(p.Status), isReady(p) == nil, p.Annotations)
	}
	c.setImage(t, ns, "app", "guest", guestImage)
	p = c.waitPod(t, ns, "app", "it is ready again", isReady)
	if p.Status.Message != "" || p.Status.Reason != "" {
		t.Errorf("the status still says %s %s", p.Status.Reason, p.Status.Message)
	}
}

func TestAPodThatIsSimulatedRunsWhenItsImageDoes(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	container := guest("report")
	container.Image = "nginx"
	made := c.create(t, ns, "app", corev1.PodSpec{Containers: []corev1.Container{container}})
	c.waitPod(t, ns, "app", "it is ready", isReady)
	for _, step := range [][2]string{{guestImage, runtime.Process}, {"nginx", runtime.Simulated}} {
		image, name := step[0], step[1]
		c.setImage(t, ns, "app", "guest", image)
		c.waitPod(t, ns, "app", "it is "+name, func(p *corev1.Pod) error {
			if p.Annotations[runtime.Annotation] != name || (len(c.processesOf(string(made.UID))) == 1) != (name == runtime.Process) {
				return fmt.Errorf("the annotations are %v, the processes %v", p.Annotations, c.processesOf(string(made.UID)))
			}
			return isReady(p)
		})
	}
}
