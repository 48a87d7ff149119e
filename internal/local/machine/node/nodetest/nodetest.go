// Package nodetest contains helpers for tests of the node's packages.
package nodetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Patience is how long a test waits for the parts of a cluster.
const Patience = 2 * time.Minute

// Eventually waits until check returns nil. After Patience it fails the test with check's last error.
func Eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	Within(t, Patience, what, check)
}

// Within is like Eventually, with another limit.
func Within(t testing.TB, limit time.Duration, what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, limit, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("timeout after %s: waited until %s: %v", limit, what, last)
	}
}

// Pod returns the pod "one" of the default namespace, with the UID "uid-of-one".
func Pod(spec corev1.PodSpec) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "default", UID: "uid-of-one"}, Spec: spec}
}

// Containers returns containers of one image.
func Containers(image string, names ...string) []corev1.Container {
	list := make([]corev1.Container, len(names))
	for i, name := range names {
		list[i] = corev1.Container{Name: name, Image: image}
	}
	return list
}

// Terminated returns the state of a container that ended with an exit code.
func Terminated(code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
}

// Running returns the state of a container that runs.
func Running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}

// Condition returns the status of a pod's condition, for example "True", or a text that says that the pod has no such
// condition.
func Condition(status corev1.PodStatus, kind corev1.PodConditionType) string {
	for _, c := range status.Conditions {
		if c.Type == kind {
			return string(c.Status)
		}
	}
	return fmt.Sprintf("no condition %s", kind)
}

// Describe formats a pod's status for the message of a failed test.
func Describe(s corev1.PodStatus) string {
	var text strings.Builder
	fmt.Fprintf(&text, "phase %s, %s %s", s.Phase, s.Reason, s.Message)
	for _, c := range append(s.InitContainerStatuses, s.ContainerStatuses...) {
		fmt.Fprintf(&text, "; container %s: %+v", c.Name, c.State)
	}
	return text.String()
}
