package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/test/bench/figure"
	"github.com/strata-platform/strata/test/stratatest"
)

// Bounds of the control plane and its supervisor.
const (
	startBound      = 8 * time.Second
	restartBound    = 10 * time.Second
	residentBound   = 700.0 // MB
	processorBound  = 15.0  // % of one core
	restartObjects  = 1000
	readyTimeout    = 2 * time.Minute
	settle          = 30 * time.Second
	idleWindow      = time.Minute
	idleSampleEvery = 5 * time.Second
)

// BenchmarkLocalStart starts a control plane and its node in an empty home, with all tools built, and then measures them
// idle.
func BenchmarkLocalStart(b *testing.B) {
	p := stratatest.NewWithTools(b)
	took := startUntilReady(b, p)
	figure.Seconds(b, "local start to a Ready node", took, startBound)

	idle := watchIdle(b, p)
	figure.AtMost(b, "control plane and supervisor idle: memory", idle.megabytes, residentBound, "MB")
	figure.AtMost(b, "control plane and supervisor idle: processor", idle.percent, processorBound, "%")
}

// BenchmarkLocalRestart restarts a control plane that contains many objects.
func BenchmarkLocalRestart(b *testing.B) {
	p := stratatest.NewWithTools(b)
	p.Run("local", "start")
	client := p.Kubernetes()
	var group errgroup.Group
	group.SetLimit(16)
	for i := range restartObjects {
		group.Go(func() error {
			_, err := client.CoreV1().ConfigMaps("default").Create(b.Context(), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("object-%d", i), Labels: map[string]string{"bench": "restart"}},
				Data:       map[string]string{"key": fmt.Sprintf("value %d", i)},
			}, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	p.Run("local", "stop")

	took := startUntilReady(b, p)
	began := time.Now()
	list, err := p.Kubernetes().CoreV1().ConfigMaps("default").List(b.Context(), metav1.ListOptions{LabelSelector: "bench=restart"})
	if err != nil || len(list.Items) != restartObjects {
		b.Fatalf("after the restart the cluster has %d of %d objects (%v)", len(list.Items), restartObjects, err)
	}
	took += time.Since(began)
	figure.Seconds(b, fmt.Sprintf("local start with %d objects, all served", restartObjects), took, restartBound)
}

// startUntilReady returns the time from the command until the node is Ready by a new heartbeat.
func startUntilReady(b *testing.B, p *stratatest.Platform) time.Duration {
	b.Helper()
	began := time.Now()
	p.Run("local", "start")
	client := p.Kubernetes()
	if err := wait.PollUntilContextTimeout(b.Context(), 20*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
		return nodeReady(ctx, client, began)
	}); err != nil {
		b.Fatalf("wait for a Ready node: %v", err)
	}
	return time.Since(began)
}

// nodeReady reports whether the node is Ready with a heartbeat since a time. The API has a resolution of one second.
func nodeReady(ctx context.Context, client kubernetes.Interface, since time.Time) (bool, error) {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, node := range nodes.Items {
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && !c.LastHeartbeatTime.Time.Before(since.Truncate(time.Second)) {
				return true, nil
			}
		}
	}
	return false, nil
}

// idle is the resource usage of idle processes.
type idle struct {
	megabytes float64 // maximum of the sum of the processes' shares
	percent   float64 // of one core
}

// watchIdle lets a platform settle and then measures its processes.
func watchIdle(b *testing.B, p *stratatest.Platform) idle {
	b.Helper()
	pause(b, settle)
	before, began := p.Processes(), time.Now()
	if len(before) == 0 {
		b.Fatal("no process of the platform is visible: this needs /proc")
	}
	var most idle
	for time.Since(began) < idleWindow {
		pause(b, idleSampleEvery)
		var held int64
		for _, process := range p.Processes() {
			held += process.Share
		}
		most.megabytes = max(most.megabytes, float64(held)/1e6)
	}
	var used time.Duration
	for pid, process := range p.Processes() {
		used += process.CPU - before[pid].CPU
		b.Logf("%5.0f MB  %s", float64(process.Share)/1e6, process.Line[:min(len(process.Line), 100)])
	}
	most.percent = 100 * used.Seconds() / time.Since(began).Seconds()
	return most
}

// pause waits, because the benchmark measures idle processes.
func pause(b *testing.B, d time.Duration) {
	b.Helper()
	select {
	case <-time.After(d):
	case <-b.Context().Done():
		b.Fatal(context.Cause(b.Context()))
	}
}
