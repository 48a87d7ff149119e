package soak_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

const (
	writerCount = 4
	// writeEvery is the interval between two writes, so that the control plane has time for its own work.
	writeEvery = 20 * time.Millisecond
	// writeTimeout ends a write without a response from a killed server.
	writeTimeout = 5 * time.Second
	namespace    = "default"
	counterKey   = "count"
)

// writers write to a cluster continuously: each creates objects, and increments a counter in one of its own. They
// remember the acknowledged writes. Any other write may or may not exist.
type writers struct {
	client kubernetes.Interface
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu      sync.Mutex
	made    []string
	counts  [writerCount]int // the last acknowledged count
	written int
}

func startWriters(t *testing.T, client kubernetes.Interface) *writers {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &writers{client: client, cancel: cancel}
	for n := range writerCount {
		if err := w.put(ctx, counterName(n), 0, true); err != nil {
			t.Fatal(err)
		}
		w.group.Go(func() { w.write(ctx, n) })
	}
	t.Cleanup(w.stop)
	return w
}

func counterName(writer int) string { return fmt.Sprintf("counter-%d", writer) }

// write alternates between creating an object and incrementing the counter, until ctx ends. Writes fail during a kill;
// write then continues with the next one.
func (w *writers) write(ctx context.Context, writer int) {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for i := 1; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("object-%d-%d", writer, i)
		if w.put(ctx, name, i, true) == nil {
			w.acknowledge(func() { w.made = append(w.made, name) })
		}
		if w.put(ctx, counterName(writer), i, false) == nil {
			w.acknowledge(func() { w.counts[writer] = i })
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (w *writers) acknowledge(remember func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	remember()
	w.written++
}

func (w *writers) put(ctx context.Context, name string, count int, create bool) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"soak": "true"}},
		Data:       map[string]string{counterKey: strconv.Itoa(count)},
	}
	var err error
	if create {
		_, err = w.client.CoreV1().ConfigMaps(namespace).Create(ctx, object, metav1.CreateOptions{})
	} else {
		_, err = w.client.CoreV1().ConfigMaps(namespace).Update(ctx, object, metav1.UpdateOptions{})
	}
	return err
}

// await waits until the given number of further writes is acknowledged.
func (w *writers) await(t *testing.T, more int) {
	t.Helper()
	count := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.written
	}
	goal := count() + more
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, recoverTimeout, true, func(context.Context) (bool, error) {
		return count() >= goal, nil
	})
	if err != nil {
		t.Fatalf("timeout: wait for %d more acknowledged writes, got %d", more, count()-goal+more)
	}
}

// check fails the test if an acknowledged write does not exist, and returns the number of acknowledged writes.
func (w *writers) check(t *testing.T) int {
	t.Helper()
	w.mu.Lock()
	made, counts, written := slices.Clip(w.made), w.counts, w.written
	w.mu.Unlock()
	list, err := w.client.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "soak=true"})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, object := range list.Items {
		if found[object.Name], err = strconv.Atoi(object.Data[counterKey]); err != nil {
			t.Errorf("%s contains %v", object.Name, object.Data)
		}
	}
	for _, name := range made {
		if _, ok := found[name]; !ok {
			t.Errorf("the acknowledged %s is lost", name)
		}
	}
	for n, count := range counts {
		if found[counterName(n)] < count {
			t.Errorf("the acknowledged value of %s is %d, the stored one %d", counterName(n), count, found[counterName(n)])
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	return written
}

// stop ends the writers.
func (w *writers) stop() {
	w.cancel()
	w.group.Wait()
}
