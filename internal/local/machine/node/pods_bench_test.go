package node

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/test/bench/figure"
)

// BenchmarkSandboxedPods measures pods of an image that the home has, from the call that creates a pod until its
// readiness probe has passed: one after the other, and many at once. Then it kills the host of all sandboxes.
func BenchmarkSandboxedPods(b *testing.B) {
	const rounds, many = 5, 20
	spec := server(largeImage(b))
	spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(8080)}}}
	c := realCluster(b)
	ns := c.namespace(b)
	// The first pod pulls the image.
	c.ready(b, ns, spec, "first")
	slowest := time.Duration(0)
	for round := range rounds {
		slowest = max(slowest, c.ready(b, ns, spec, fmt.Sprintf("one-%d", round)))
	}
	figure.Seconds(b, "sandboxed pod of a cached 100 MB image: create to Ready, the slowest of 5", slowest, 800*time.Millisecond)
	c.removeAll(b, ns)
	names := make([]string, many)
	for i := range names {
		names[i] = fmt.Sprintf("many-%d", i)
	}
	figure.Seconds(b, "20 sandboxed pods at once: create to Ready", c.ready(b, ns, spec, names...), 10*time.Second)
	figure.AtMost(b, "sandboxed pod that is idle: private memory", privateBelow(b, hostOfSandboxes(b))/many, 60, "MB")
	c.removeAll(b, ns)

	c.ready(b, ns, spec, "killed")
	began := time.Now()
	if err := syscall.Kill(hostOfSandboxes(b), syscall.SIGKILL); err != nil {
		b.Fatal(err)
	}
	c.await(b, ns, 1, func(p *corev1.Pod) bool { return p.Status.ContainerStatuses[0].RestartCount > 0 && isReady(p) == nil })
	figure.Seconds(b, "sandboxed pod: kill of the host to Ready again", time.Since(began), 5*time.Second)
}

// ready creates pods and returns the time until all are ready.
func (c *cluster) ready(b *testing.B, namespace string, spec corev1.PodSpec, names ...string) time.Duration {
	b.Helper()
	began := time.Now()
	for _, name := range names {
		c.create(b, namespace, name, spec)
	}
	waiting := map[string]bool{}
	for _, name := range names {
		waiting[name] = true
	}
	c.await(b, namespace, len(names), func(p *corev1.Pod) bool { return waiting[p.Name] && isReady(p) == nil })
	return time.Since(began)
}

// await waits until n pods of a namespace fulfil a condition. It watches them, because a poll would add its interval.
func (c *cluster) await(b *testing.B, namespace string, n int, condition func(*corev1.Pod) bool) {
	b.Helper()
	timeout := int64(nodetest.Patience / time.Second)
	// Without a resource version, the watch begins with the pods that exist.
	watch, err := c.CoreV1().Pods(namespace).Watch(b.Context(), metav1.ListOptions{TimeoutSeconds: &timeout})
	if err != nil {
		b.Fatal(err)
	}
	defer watch.Stop()
	found := map[string]bool{}
	for event := range watch.ResultChan() {
		if p, ok := event.Object.(*corev1.Pod); ok && len(p.Status.ContainerStatuses) > 0 && condition(p) {
			found[p.Name] = true
		}
		if len(found) == n {
			return
		}
	}
	b.Fatalf("timeout: %d of %d pods fulfil the condition", len(found), n)
}

// removeAll deletes the pods of a namespace, and waits until they are gone.
func (c *cluster) removeAll(b *testing.B, namespace string) {
	b.Helper()
	if err := c.CoreV1().Pods(namespace).DeleteCollection(b.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		b.Fatal(err)
	}
	nodetest.Eventually(b, "the pods are gone", func() error {
		list, err := c.CoreV1().Pods(namespace).List(b.Context(), metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("there are %d", len(list.Items))
		}
		return err
	})
}

// largeImage returns the reference of an image of the app and of 100 MB of Go's own files.
func largeImage(b *testing.B) string {
	b.Helper()
	reference := appImage(b)
	root, err := exec.CommandContext(b.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatal(err)
	}
	const wanted = 100e6
	files, size := imagetest.Files{}, 0
	folder := strings.TrimSpace(string(root))
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if size >= wanted {
			return filepath.SkipAll
		}
		content, err := os.ReadFile(path)
		name, relative := filepath.Rel(folder, path)
		files["usr/go/"+filepath.ToSlash(name)] = string(content)
		size += len(content)
		if err != nil {
			return err
		}
		return relative
	})
	if err != nil || size < wanted {
		b.Fatalf("Go's files are %d bytes, %v", size, err)
	}
	image, err := mutate.AppendLayers(app.image, imagetest.Layer(b, files))
	if err != nil {
		b.Fatal(err)
	}
	reference = strings.TrimSuffix(reference, "/app:v1") + "/large:v1"
	imagetest.Push(b, reference, image)
	return reference
}

// privateBelow returns the private memory of the processes below one, in megabytes.
func privateBelow(b *testing.B, ancestor int) float64 {
	b.Helper()
	parents := map[int]int{}
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range paths {
		stat, _ := os.ReadFile(path)
		// The name before the state may contain spaces (proc_pid_stat(5)).
		_, rest, _ := strings.Cut(string(stat), ") ")
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if fields := strings.Fields(rest); len(fields) > 1 {
			parents[pid], _ = strconv.Atoi(fields[1])
		}
	}
	total := 0.0
	for pid := range parents {
		for above := parents[pid]; above != 0; above = parents[above] {
			if above == ancestor {
				total += private(pid)
			}
		}
	}
	return total
}

// private returns the private memory of a process in megabytes (proc_pid_smaps(5)).
func private(pid int) float64 {
	file, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0 // It has ended.
	}
	defer file.Close()
	total := 0.0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > 1 && (fields[0] == "Private_Clean:" || fields[0] == "Private_Dirty:") {
			kilobytes, _ := strconv.ParseFloat(fields[1], 64)
			total += kilobytes * 1024 / 1e6
		}
	}
	return total
}
