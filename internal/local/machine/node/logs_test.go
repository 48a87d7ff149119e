package node

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
)

// askLogs requests logs from the API server.
func askLogs(t *testing.T, c kubernetes.Interface, namespace, pod string, o corev1.PodLogOptions) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), nodetest.Patience)
	defer cancel()
	stream, err := c.CoreV1().Pods(namespace).GetLogs(pod, &o).Stream(ctx)
	if err != nil {
		return "", err
	}
	defer stream.Close()
	raw, err := io.ReadAll(stream)
	return string(raw), err
}

// logs returns the logs that the API server answers.
func (c *cluster) logs(t *testing.T, namespace, pod string, o corev1.PodLogOptions) string {
	t.Helper()
	text, err := askLogs(t, c, namespace, pod, o)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// ticker creates a pod whose container prints lines until it ends, and waits for some lines.
func (c *cluster) ticker(t *testing.T, namespace string) {
	t.Helper()
	first := guest("say", "I come first")
	first.Name = "first"
	c.create(t, namespace, "ticker", corev1.PodSpec{InitContainers: []corev1.Container{first}, Containers: []corev1.Container{guest("tick")}})
	c.waitTick(t, namespace)
}

func (c *cluster) waitTick(t *testing.T, namespace string) {
	t.Helper()
	nodetest.Eventually(t, "the container has written some lines", func() error {
		text, err := askLogs(t, c, namespace, "ticker", corev1.PodLogOptions{})
		if err == nil && !strings.Contains(text, "tick 3\n") {
			err = fmt.Errorf("it wrote %q", text)
		}
		return err
	})
}

// pidIn returns the PID in the first line of a ticker's log.
func pidIn(t *testing.T, log string) int {
	t.Helper()
	line, _, _ := strings.Cut(log, "\n")
	pid, err := strconv.Atoi(strings.TrimPrefix(line, "pid "))
	if err != nil {
		t.Fatalf("the log begins %q: %v", line, err)
	}
	return pid
}

func TestTheAPIServerShowsLogs(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.ticker(t, ns)
	if got := c.logs(t, ns, "ticker", corev1.PodLogOptions{Container: "first"}); got != "I come first\n" {
		t.Errorf("the log of the init container is %q", got)
	}
	one, far, ten := int64(1), int64(3600), int64(10)
	if got := c.logs(t, ns, "ticker", corev1.PodLogOptions{TailLines: &one}); !strings.HasPrefix(got, "tick ") || strings.Count(got, "\n") != 1 {
		t.Errorf("the last line is %q", got)
	}
	if got := c.logs(t, ns, "ticker", corev1.PodLogOptions{LimitBytes: &ten}); len(got) != 10 || !strings.HasPrefix(got, "pid ") {
		t.Errorf("the first ten bytes are %q", got)
	}
	if got := c.logs(t, ns, "ticker", corev1.PodLogOptions{SinceSeconds: &far}); !strings.HasPrefix(got, "pid ") {
		t.Errorf("the log of the last hour begins %.20q", got)
	}
	future := metav1.NewTime(time.Now().Add(time.Hour))
	if got := c.logs(t, ns, "ticker", corev1.PodLogOptions{SinceTime: &future}); got != "" {
		t.Errorf("the log of the future is %q", got)
	}
	stamp, text, _ := strings.Cut(c.logs(t, ns, "ticker", corev1.PodLogOptions{Timestamps: true, LimitBytes: &far}), " ")
	if at, err := time.Parse(time.RFC3339Nano, stamp); err != nil || time.Since(at) > nodetest.Patience || !strings.HasPrefix(text, "pid ") {
		t.Errorf("the first line is stamped %q (%v) and begins %.10q", stamp, err, text)
	}
}

func TestTheAPIServerFollowsALogUntilItsRunEnds(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.ticker(t, ns)
	_, err := askLogs(t, c, ns, "ticker", corev1.PodLogOptions{Previous: true})
	if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), `previous terminated container "guest" in pod "ticker" not found`) {
		t.Errorf("the log of a run that never was: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), nodetest.Patience)
	defer cancel()
	followed, err := c.CoreV1().Pods(ns).GetLogs("ticker", &corev1.PodLogOptions{Follow: true}).Stream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer followed.Close()
	lines := bufio.NewReader(followed)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid := pidIn(t, first)
	for i := 1; i <= 20; i++ {
		if line, err := lines.ReadString('\n'); err != nil || line != fmt.Sprintf("tick %d\n", i) {
			t.Fatalf("line %d of what is followed is %q: %v", i, line, err)
		}
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(lines); err != nil || strings.Contains(string(rest), "pid ") {
		t.Errorf("what is followed ends in %q: %v", rest, err)
	}
	c.waitTick(t, ns)
	if now := pidIn(t, c.logs(t, ns, "ticker", corev1.PodLogOptions{})); now == pid {
		t.Error("the log is that of the run before")
	}
	if before := pidIn(t, c.logs(t, ns, "ticker", corev1.PodLogOptions{Previous: true})); before != pid {
		t.Errorf("the log of the run before is that of process %d, want %d", before, pid)
	}
}

func TestTheLogsOfAPodGoWithIt(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.ticker(t, ns)
	if err := syscall.Kill(pidIn(t, c.logs(t, ns, "ticker", corev1.PodLogOptions{})), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	files := filepath.Join(c.home.Logs(), "pods", ns+"_*")
	nodetest.Eventually(t, "there are the logs of three runs", func() error {
		if made, err := filepath.Glob(files); err != nil || len(made) != 3 {
			return fmt.Errorf("there are %v (%w)", made, err)
		}
		return nil
	})
	if err := c.CoreV1().Pods(ns).Delete(t.Context(), "ticker", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.gone(t, ns, "ticker")
	if left, err := filepath.Glob(files); err != nil || len(left) > 0 {
		t.Errorf("what is left of the logs are %v (%v)", left, err)
	}
}

func TestTheLogOfASimulatedPodSaysThatItIsSimulated(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.create(t, ns, "web", corev1.PodSpec{Containers: nodetest.Containers("nginx", "nginx")})
	c.waitPod(t, ns, "web", "the pod is ready", isReady)
	want := "pod web is simulated: container nginx does not run and has no output\n"
	for _, follow := range []bool{false, true} {
		if got := c.logs(t, ns, "web", corev1.PodLogOptions{Follow: follow}); got != want {
			t.Errorf("the log is %q, want %q", got, want)
		}
	}
}

func TestTheLogOfAPodThatCannotStartSaysWhy(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.create(t, ns, "wrong", corev1.PodSpec{Containers: nodetest.Containers(guestRepository+":v2", "guest")})
	want := `container "guest" in pod "wrong" is waiting to start: ErrImagePull: `
	nodetest.Eventually(t, "the log says why", func() error {
		_, err := askLogs(t, c, ns, "wrong", corev1.PodLogOptions{})
		if apierrors.IsBadRequest(err) && strings.Contains(err.Error(), want) && strings.Contains(err.Error(), "v2") {
			return nil
		}
		return fmt.Errorf("it says %w", err)
	})
}
