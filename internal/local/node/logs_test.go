package node

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/local/controlplane"
)

// askLogs asks the API server for logs.
func askLogs(t *testing.T, c kubernetes.Interface, namespace, pod string, o corev1.PodLogOptions) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := c.CoreV1().Pods(namespace).GetLogs(pod, &o).Stream(ctx)
	if err != nil {
		return "", err
	}
	defer stream.Close()
	raw, err := io.ReadAll(stream)
	return string(raw), err
}

// logs are what the API server answers to a question for logs.
func (c *cluster) logs(t *testing.T, namespace, pod string, o corev1.PodLogOptions) string {
	t.Helper()
	text, err := askLogs(t, c, namespace, pod, o)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// ticker makes a pod whose container writes lines until it ends, and waits until it has written some.
func (c *cluster) ticker(t *testing.T, namespace string) {
	t.Helper()
	first := guest("say", "I come first")
	first.Name = "first"
	c.create(t, namespace, "ticker", corev1.PodSpec{InitContainers: []corev1.Container{first}, Containers: []corev1.Container{guest("tick")}})
	c.waitTick(t, namespace)
}

func (c *cluster) waitTick(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "the container has written some lines", func() error {
		text, err := askLogs(t, c, namespace, "ticker", corev1.PodLogOptions{})
		if err == nil && !strings.Contains(text, "tick 3\n") {
			err = fmt.Errorf("it wrote %q", text)
		}
		return err
	})
}

// pidIn is the process id that the container of a ticker names in the first line of its log.
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
	if at, err := time.Parse(time.RFC3339Nano, stamp); err != nil || time.Since(at) > patience || !strings.HasPrefix(text, "pid ") {
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
	ctx, cancel := context.WithTimeout(t.Context(), patience)
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
	if err := c.CoreV1().Pods(ns).Delete(t.Context(), "ticker", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.gone(t, ns, "ticker")
	if left, err := filepath.Glob(filepath.Join(c.home.Logs(), "pods", ns+"_*")); err != nil || len(left) > 0 {
		t.Errorf("what is left of the logs are %v (%v)", left, err)
	}
}

func TestTheLogOfASimulatedPodSaysThatItIsSimulated(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.create(t, ns, "web", corev1.PodSpec{Containers: containersNamed("nginx", "nginx")})
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
	c.create(t, ns, "wrong", corev1.PodSpec{Containers: containersNamed(guestRepository+":v2", "guest")})
	want := `container "guest" in pod "wrong" is waiting to start: ErrImagePull: `
	eventually(t, "the log says why", func() error {
		_, err := askLogs(t, c, ns, "wrong", corev1.PodLogOptions{})
		if apierrors.IsBadRequest(err) && strings.Contains(err.Error(), want) && strings.Contains(err.Error(), "v2") {
			return nil
		}
		return fmt.Errorf("it says %w", err)
	})
}

func TestWhoMayNotGetLogsIsRefused(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.ticker(t, ns)
	for name, resources := range map[string][]string{"onlooker": {"pods"}, "reader": {"pods", "pods/log"}} {
		if _, err := c.RbacV1().Roles(ns).Create(t.Context(), &rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: resources, Verbs: []string{"get"}}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.RbacV1().RoleBindings(ns).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: name}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	as := func(user string) kubernetes.Interface {
		config := rest.CopyConfig(c.config)
		config.Impersonate.UserName = user
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	eventually(t, "the reader may get the logs", func() error {
		_, err := askLogs(t, as("reader"), ns, "ticker", corev1.PodLogOptions{})
		return err
	})
	if _, err := as("onlooker").CoreV1().Pods(ns).Get(t.Context(), "ticker", metav1.GetOptions{}); err != nil {
		t.Errorf("the onlooker may not get the pod: %v", err)
	}
	_, err := askLogs(t, as("onlooker"), ns, "ticker", corev1.PodLogOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("who may get pods alone gets logs: %v", err)
	}
}

func TestTheNodeAnswersTheAPIServerAlone(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.ticker(t, ns)
	object, err := c.CoreV1().Nodes().Get(t.Context(), controlplane.NodeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	port, err := c.home.Port(portName)
	if err != nil {
		t.Fatal(err)
	}
	if shown := object.Status.DaemonEndpoints.KubeletEndpoint.Port; int(shown) != port {
		t.Fatalf("the node's status shows port %d, want the kept port %d", shown, port)
	}
	url := fmt.Sprintf("https://%s/containerLogs/%s/ticker/guest", net.JoinHostPort(loopback, strconv.Itoa(port)), ns)
	keys, err := filepath.Glob(filepath.Join(c.home.Kubernetes(), "pki", "*.key"))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, key := range append(keys, "") {
		name := strings.TrimSuffix(filepath.Base(key), ".key")
		config := &tls.Config{InsecureSkipVerify: true}
		if key != "" {
			certificate, err := tls.LoadX509KeyPair(strings.TrimSuffix(key, ".key")+".crt", key)
			if err != nil {
				continue // a bare key pair
			}
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }
		}
		asked++
		transport := &http.Transport{TLSClientConfig: config}
		response, err := (&http.Client{Transport: transport}).Get(url)
		if err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
		transport.CloseIdleConnections()
		switch may := name == "kube-apiserver-kubelet-client"; {
		case may && (err != nil || response.StatusCode != http.StatusOK):
			t.Errorf("the API server is refused: %v", err)
		case !may && err == nil:
			t.Errorf("the certificate %q is answered: %s", name, response.Status)
		case !may && !refused(err):
			t.Errorf("the certificate %q is not refused but %v", name, err)
		}
	}
	if asked < 8 {
		t.Errorf("only %d certificates were tried", asked)
	}
}

// refused says whether the other side ended a connection with an alert of TLS.
func refused(err error) bool {
	var alert *net.OpError
	return errors.As(err, &alert) && alert.Op == "remote error"
}

func TestLogsOfPodsThatAreGoneAreRemovedAtTheStart(t *testing.T) {
	n := newTestNode(t)
	ended := aPod(corev1.PodSpec{Containers: containersNamed("example.com/program:v1", "main")})
	n.lister = listerOf(t, ended)
	if err := n.pruneLogs(); err != nil {
		t.Errorf("before there is any log: %v", err)
	}
	kept, gone := n.logPath("default", "one", "main"), n.logPath("default", "two", "main")
	for _, path := range []string{kept, kept + ".previous", gone, gone + ".1", gone + ".previous"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.pruneLogs(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(n.podLogs(), "*"))
	if err != nil || len(left) != 2 || left[0] != kept || left[1] != kept+".previous" {
		t.Errorf("what is left are %v (%v)", left, err)
	}
}
