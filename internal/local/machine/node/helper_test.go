package node

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kwait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/strata-platform/strata/internal/local/machine/process"
)

// patience is how long a test waits for the parts of a cluster.
const patience = 2 * time.Minute

// eventually waits until check returns nil. If that takes too long, it fails the test with check's last error.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	within(t, patience, what, check)
}

// soon is like eventually, for changes that must not wait for the node's own check every minute.
func soon(t *testing.T, what string, check func() error) {
	t.Helper()
	within(t, refreshVolumes/2, what, check)
}

func within(t *testing.T, patience time.Duration, what string, check func() error) {
	t.Helper()
	var last error
	err := kwait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("in vain waited until %s: %v", what, last)
	}
}

// aPod returns a pod of the default namespace.
func aPod(spec corev1.PodSpec) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "default", UID: "uid-of-one"}, Spec: spec}
}

// newTestNode returns a node without an API server.
func newTestNode(t *testing.T) *Node {
	t.Helper()
	n := &Node{
		clock: clock.RealClock{},
		pods:  t.TempDir(), logs: t.TempDir(), log: slog.New(slog.NewTextHandler(io.Discard, nil)), running: map[string]*pod{}, processes: &process.Set{},
		notify:    func(*corev1.Pod) {},
		recorder:  &record.FakeRecorder{},
		catalogue: Catalogue{{May: anybody, Repository: "example.com/program", Tag: "v1"}},
	}
	n.services = &services{
		pods: n.podsIn, log: n.log, listeners: map[string]net.Listener{},
		listen: func(string) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
	}
	t.Cleanup(n.services.close)
	return n
}

// containersNamed returns containers of one image.
func containersNamed(image string, names ...string) []corev1.Container {
	list := make([]corev1.Container, len(names))
	for i, name := range names {
		list[i] = corev1.Container{Name: name, Image: image}
	}
	return list
}

func terminated(code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
}

func isRunning() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}

func conditionOf(status corev1.PodStatus, kind corev1.PodConditionType) string {
	for _, c := range status.Conditions {
		if c.Type == kind {
			return string(c.Status)
		}
	}
	return fmt.Sprintf("no condition %s", kind)
}
