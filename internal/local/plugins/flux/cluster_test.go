package flux

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/process"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"

	fluxcluster "github.com/strata-platform/strata/internal/local/plugins/flux/cluster"
)

const fluxNamespace = "flux-system"

// cluster is a real control plane. node takes the place of its only node.
type cluster struct {
	client.Client
	kubernetes fluxcluster.Kubernetes
	kubeconfig string
	node       *node
}

// newCluster starts a cluster for one test.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plane, err := controlplane.Start(t.Context(), h, func(_ context.Context, name string) (string, error) {
		return toolchaintest.Path(t, name), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	ca, cert, key, err := plane.Credentials()
	if err != nil {
		t.Fatal(err)
	}
	config := api.NewConfig()
	config.Clusters["test"] = &api.Cluster{Server: plane.Server(), CertificateAuthorityData: ca}
	config.AuthInfos["test"] = &api.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	config.Contexts["test"] = &api.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	c := &cluster{
		kubeconfig: filepath.Join(h.Dir(), "kubeconfig"),
		kubernetes: fluxcluster.Kubernetes{Host: plane.Server(), ClusterCACertificate: string(ca), ClientCertificate: string(cert), ClientKey: string(key)},
	}
	if err := clientcmd.WriteToFile(*config, c.kubeconfig); err != nil {
		t.Fatal(err)
	}
	if c.Client, err = c.kubernetes.NewClient(); err != nil {
		t.Fatal(err)
	}
	c.node = newNode(t, c)
	return c
}

// node takes the place of the kubelet for Flux's pods: it runs the programs of the pods as processes, and reports each
// pod as running and ready.
type node struct {
	cluster  *cluster
	binaries map[string]string
	dir      string
	// storage is the address on which source-controller serves artifacts, in every pod.
	storage string

	mu      sync.Mutex
	dead    bool
	running map[string]*process.Process // by name of the pod
}

func newNode(t *testing.T, c *cluster) *node {
	storage, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	n := &node{
		cluster: c,
		storage: storage,
		dir:     t.TempDir(),
		running: map[string]*process.Process{},
		binaries: map[string]string{
			"source-controller":       toolchaintest.Path(t, "source-controller"),
			"kustomize-controller":    toolchaintest.Path(t, "kustomize-controller"),
			"helm-controller":         toolchaintest.Path(t, "helm-controller"),
			"notification-controller": toolchaintest.Path(t, "notification-controller"),
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			if err := n.sync(ctx); err != nil && ctx.Err() == nil {
				t.Logf("node: %v", err)
			}
		}, 50*time.Millisecond)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		n.stop(slices.Collect(maps.Keys(n.running))...)
		if t.Failed() {
			n.dump(t)
		}
	})
	return n
}

// sync starts and stops programs, so that they correspond to the pods.
func (n *node) sync(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list corev1.PodList
	if err := n.cluster.List(ctx, &list, client.InNamespace(fluxNamespace)); err != nil {
		return err
	}
	wanted := map[string]bool{}
	for i := range list.Items {
		pod := &list.Items[i]
		wanted[pod.Name] = true
		if err := n.run(pod); err != nil {
			return err
		}
		if err := n.report(ctx, pod); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return err
		}
	}
	for name := range n.running {
		if !wanted[name] {
			n.stop(name)
		}
	}
	return nil
}

// run starts the pod's program on loopback addresses.
func (n *node) run(pod *corev1.Pod) error {
	app := pod.Labels["app"]
	if p := n.running[pod.Name]; n.dead || n.binaries[app] == "" || p != nil && !ended(p) {
		return nil
	}
	args := []string{"--metrics-addr=0", "--health-addr=127.0.0.1:0", "--enable-leader-election=false", "--log-encoding=json"}
	for _, a := range pod.Spec.Containers[0].Args {
		if strings.HasPrefix(a, "--no-") || strings.HasPrefix(a, "--default-") {
			args = append(args, a)
		}
	}
	if app == "notification-controller" {
		args = append(args, "--events-addr=127.0.0.1:0", "--receiverAddr=127.0.0.1:0")
	} else {
		args = append(args, "--events-addr=")
	}
	if app == "source-controller" {
		storage := filepath.Join(n.dir, pod.Name)
		args = append(args, "--storage-addr="+n.storage, "--storage-adv-addr="+n.storage, "--storage-path="+storage)
		if err := os.MkdirAll(storage, 0o700); err != nil {
			return err
		}
	}
	p, err := process.Start(process.Spec{
		Name: app,
		Path: n.binaries[app],
		Args: args,
		Env:  []string{"KUBECONFIG=" + n.cluster.kubeconfig, "RUNTIME_NAMESPACE=" + fluxNamespace, "TMPDIR=" + n.dir, "HOME=" + n.dir, "PATH=" + os.Getenv("PATH")},
		Log:  filepath.Join(n.dir, app+".log"),
	})
	n.running[pod.Name] = p
	return err
}

// report updates a pod's status like a kubelet.
func (n *node) report(ctx context.Context, pod *corev1.Pod) error {
	ready := corev1.ConditionTrue
	if n.dead {
		ready = corev1.ConditionFalse
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == ready {
			return nil
		}
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.Now()}}
	return n.cluster.Status().Update(ctx, pod)
}

// kill stops the controllers and prevents their restart.
func (n *node) kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead = true
	n.stop(slices.Collect(maps.Keys(n.running))...)
}

func (n *node) stop(names ...string) {
	for _, name := range names {
		n.running[name].Stop(5 * time.Second)
		delete(n.running, name)
	}
}

func (n *node) dump(t *testing.T) {
	logs, _ := filepath.Glob(filepath.Join(n.dir, "*.log"))
	for _, l := range logs {
		raw, _ := os.ReadFile(l)
		lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
		t.Logf("%s:\n%s", filepath.Base(l), strings.Join(lines[max(0, len(lines)-15):], "\n"))
	}
}

func ended(p *process.Process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// exists reports whether the object exists.
func (c *cluster) exists(t *testing.T, obj client.Object) bool {
	t.Helper()
	err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
	if err != nil && !fluxcluster.Gone(err) {
		t.Fatal(err)
	}
	return err == nil
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", what, err))
	}
}
