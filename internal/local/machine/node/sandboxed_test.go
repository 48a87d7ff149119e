package node

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// app is the image of testdata/app in a registry.
var app struct {
	once  sync.Once
	image v1.Image
	err   error
}

// appImage returns the reference of the app's image in a registry that lives as long as the test.
func appImage(t testing.TB) string {
	t.Helper()
	if goruntime.GOOS != "linux" {
		t.Skip("sandboxes need Linux")
	}
	app.once.Do(func() { app.image, app.err = buildApp() })
	if app.err != nil {
		t.Fatal(app.err)
	}
	reference := imagetest.Registry(t, nil) + "/app:v1"
	imagetest.Push(t, reference, app.image)
	return reference
}

// buildApp builds an image with the app as its entry point.
func buildApp() (v1.Image, error) {
	dir, err := os.MkdirTemp("", "app-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(dir, "app"), "./testdata/app")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the app: %w: %s", err, out)
	}
	program, err := os.ReadFile(filepath.Join(dir, "app"))
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, entry := range []struct {
		header  tar.Header
		content string
	}{
		{tar.Header{Name: "app", Mode: 0o755}, string(program)},
		{tar.Header{Name: "etc/passwd", Mode: 0o644}, "root:x:0:0::/root:/app\nwww:x:33:33::/var/www:/app\n"},
		{tar.Header{Name: "etc/group", Mode: 0o644}, "root:x:0:\nwww:x:33:\n"},
		{tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}, ""},
		{tar.Header{Name: "bin/tar", Typeflag: tar.TypeSymlink, Linkname: "/app"}, ""}, // kubectl cp runs it
	} {
		entry.header.Size = int64(len(entry.content))
		if err := errors.Join(w.WriteHeader(&entry.header), second(io.WriteString(w, entry.content))); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil })
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", goruntime.GOARCH
	config.Config.Entrypoint, config.Config.Cmd, config.Config.Env = []string{"/app"}, []string{"serve", ":8080"}, []string{"FROM_IMAGE=yes"}
	return mutate.ConfigFile(image, config)
}

func second(_ int, err error) error { return err }

func TestASandboxedPodRunsItsImage(t *testing.T) {
	image := appImage(t)
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.create(t, ns, "web", corev1.PodSpec{Containers: []corev1.Container{{
		Name: "main", Image: image, Ports: []corev1.ContainerPort{{ContainerPort: 8080}},
	}}})
	web := c.waitPod(t, ns, "web", "the pod is ready", isReady)
	if web.Annotations[runtime.Annotation] != runtime.Sandboxed || !strings.HasPrefix(web.Status.PodIP, "10.128.") {
		t.Errorf("runtime %q, address %q, want a sandboxed pod in 10.128.0.0/16", web.Annotations[runtime.Annotation], web.Status.PodIP)
	}
	if id := web.Status.ContainerStatuses[0].ImageID; !strings.Contains(id, "@sha256:") {
		t.Errorf("the image ID is %q, want a digest", id)
	}
	if _, err := c.CoreV1().Services(ns).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.create(t, ns, "client", corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{
		Name: "main", Image: image, Args: []string{"get", "http://web." + ns + ".svc.cluster.local/"},
	}}})
	c.waitPod(t, ns, "client", "the client succeeds", succeeded)
	if text := c.log(ns, "client", "main"); !strings.Contains(text, "web answers ") {
		t.Errorf("the client printed %q, want an answer of the pod web", text)
	}
}

// succeeded returns an error until the pod has succeeded.
func succeeded(p *corev1.Pod) error {
	if p.Status.Phase != corev1.PodSucceeded {
		return fmt.Errorf("the pod is %s: %+v", p.Status.Phase, p.Status.ContainerStatuses)
	}
	return nil
}

func TestAPodWhoseRegistryDoesNotAnswerIsSimulatedAndSaysWhy(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.create(t, ns, "away", corev1.PodSpec{Containers: nodetest.Containers("127.0.0.1:1/app:v1", "main")})
	p := c.waitPod(t, ns, "away", "the pod is ready", isReady)
	if why := p.Annotations[runtime.ReasonAnnotation]; p.Annotations[runtime.Annotation] != runtime.Simulated || !strings.Contains(why, "127.0.0.1:1") {
		t.Errorf("runtime %q because of %q, want a simulated pod whose reason names the registry", p.Annotations[runtime.Annotation], why)
	}
}

func TestPodsRunAgainAfterTheirHostIsKilled(t *testing.T) {
	image := appImage(t)
	c := realCluster(t)
	ns := c.namespace(t)
	c.create(t, ns, "web", corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}})
	before := c.waitPod(t, ns, "web", "the pod is ready", isReady)
	host := hostOfSandboxes(t)
	if err := syscall.Kill(host, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	after := c.waitPod(t, ns, "web", "the pod is ready again", func(p *corev1.Pod) error {
		if p.Status.ContainerStatuses[0].RestartCount == 0 {
			return errors.New("the container has not been restarted")
		}
		return isReady(p)
	})
	if after.Status.PodIP != before.Status.PodIP {
		t.Errorf("the pod has the address %s, want %s as before", after.Status.PodIP, before.Status.PodIP)
	}
	last := after.Status.ContainerStatuses[0].LastTerminationState.Terminated
	if last == nil || last.ExitCode != 137 {
		t.Errorf("the last state is %+v, want the exit code of a killed program", last)
	}
}

// hostOfSandboxes returns the process ID of the sandboxes' host, a child of this process.
func hostOfSandboxes(t testing.TB) int {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		line, _ := os.ReadFile(path)
		if !strings.HasPrefix(string(line), "strata-sandboxes\x00") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		if stat, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "stat")); strings.Contains(string(stat), fmt.Sprintf(") S %d ", os.Getpid())) {
			return pid
		}
	}
	t.Fatal("the sandboxes have no host")
	return 0
}
