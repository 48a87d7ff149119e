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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/strata-platform/strata/internal/local/process"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

const fluxNamespace = "flux-system"

// cluster is a real API server. Its node is played by the test: it reports every Deployment of Flux as available, and
// runs source-controller and kustomize-controller for real while their Deployments exist.
type cluster struct {
	client.Client
	kubernetes Kubernetes
	kubeconfig string
	node       *node
}

// newCluster starts a cluster for one test.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	env := &envtest.Environment{}
	env.ControlPlane.Etcd = &envtest.Etcd{Path: toolchaintest.Path(t, "etcd")}
	env.ControlPlane.GetAPIServer().Path = toolchaintest.Path(t, "kube-apiserver")
	cfg, err := env.Start()
	if err != nil {
		t.Fatalf("start the control plane: %v", err)
	}
	t.Cleanup(func() { _ = env.Stop() })

	c := &cluster{
		kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"),
		kubernetes: Kubernetes{
			Host:                 cfg.Host,
			ClusterCACertificate: string(cfg.CAData),
			ClientCertificate:    string(cfg.CertData),
			ClientKey:            string(cfg.KeyData),
		},
	}
	if err := os.WriteFile(c.kubeconfig, env.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	if c.Client, err = c.kubernetes.newClient(); err != nil {
		t.Fatal(err)
	}
	// Namespaces end only where their controller runs.
	start(t, process.Spec{
		Name: "kube-controller-manager",
		Path: toolchaintest.Path(t, "kube-controller-manager"),
		Args: []string{"--kubeconfig=" + c.kubeconfig, "--controllers=namespace-controller", "--leader-elect=false", "--secure-port=0"},
		Log:  filepath.Join(t.TempDir(), "kube-controller-manager.log"),
	})
	c.node = newNode(t, c)
	return c
}

func start(t *testing.T, spec process.Spec) *process.Process {
	t.Helper()
	p, err := process.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(time.Second) })
	return p
}

// node plays the kubelet.
type node struct {
	cluster  *cluster
	binaries map[string]string
	dir      string

	mu      sync.Mutex
	dead    bool
	running map[string]*process.Process
}

func newNode(t *testing.T, c *cluster) *node {
	n := &node{
		cluster: c,
		dir:     t.TempDir(),
		running: map[string]*process.Process{},
		binaries: map[string]string{
			"source-controller":    toolchaintest.Path(t, "source-controller"),
			"kustomize-controller": toolchaintest.Path(t, "kustomize-controller"),
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

// sync makes what runs match the Deployments.
func (n *node) sync(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list appsv1.DeploymentList
	if err := n.cluster.List(ctx, &list, client.InNamespace(fluxNamespace)); err != nil {
		return err
	}
	wanted := map[string]bool{}
	for i := range list.Items {
		d := &list.Items[i]
		wanted[d.Name] = true
		if err := n.run(d); err != nil {
			return err
		}
		if err := n.report(ctx, d); client.IgnoreNotFound(err) != nil {
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

func (n *node) run(d *appsv1.Deployment) error {
	if p := n.running[d.Name]; n.dead || n.binaries[d.Name] == "" || p != nil && !ended(p) {
		return nil
	}
	args := []string{
		"--metrics-addr=0", "--health-addr=127.0.0.1:0", "--events-addr=", "--enable-leader-election=false", "--log-encoding=json",
	}
	for _, a := range d.Spec.Template.Spec.Containers[0].Args {
		if strings.HasPrefix(a, "--no-") || strings.HasPrefix(a, "--default-") {
			args = append(args, a)
		}
	}
	if d.Name == "source-controller" {
		addr, err := freeAddress()
		if err != nil {
			return err
		}
		args = append(args, "--storage-addr="+addr, "--storage-adv-addr="+addr, "--storage-path="+filepath.Join(n.dir, "storage"))
		if err := os.MkdirAll(filepath.Join(n.dir, "storage"), 0o700); err != nil {
			return err
		}
	}
	p, err := process.Start(process.Spec{
		Name: d.Name,
		Path: n.binaries[d.Name],
		Args: args,
		Env:  []string{"KUBECONFIG=" + n.cluster.kubeconfig, "RUNTIME_NAMESPACE=" + fluxNamespace, "TMPDIR=" + n.dir, "HOME=" + n.dir},
		Log:  filepath.Join(n.dir, d.Name+".log"),
	})
	n.running[d.Name] = p
	return err
}

// report says what a kubelet and the deployment controller would.
func (n *node) report(ctx context.Context, d *appsv1.Deployment) error {
	available := int32(1)
	if n.dead {
		available = 0
	}
	if d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == available {
		return nil
	}
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation,
		Replicas:           1,
		UpdatedReplicas:    1,
		ReadyReplicas:      available,
		AvailableReplicas:  available,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		},
	}
	return n.cluster.Status().Update(ctx, d)
}

// kill stops the controllers and keeps them from coming back.
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

// exists says whether the object is there.
func (c *cluster) exists(t *testing.T, obj client.Object) bool {
	t.Helper()
	err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
	if err != nil && !isGone(err) {
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
