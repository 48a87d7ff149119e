package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/sandbox/sandboxtest"
)

// cluster is an API server that the tests of this package share.
type cluster struct {
	*envtest.Environment
	kubernetes.Interface

	kubeconfig []byte
}

var shared struct {
	sync.Mutex
	*cluster
}

func TestMain(m *testing.M) {
	sandboxtest.Enter()
	code := m.Run()
	if shared.cluster != nil {
		if err := shared.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
			code = 1
		}
	}
	os.Exit(code)
}

func startCluster(t testing.TB) *cluster {
	t.Helper()
	etcd, apiserver := toolchaintest.Path(t, "etcd"), toolchaintest.Path(t, "kube-apiserver")
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		return shared.cluster
	}
	env := &envtest.Environment{}
	env.ControlPlane.Etcd = &envtest.Etcd{Path: etcd}
	env.ControlPlane.GetAPIServer().Path = apiserver
	config, err := env.Start()
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	c := &cluster{Environment: env}
	user, err := env.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err == nil {
		c.kubeconfig, err = user.KubeConfig()
	}
	if err == nil {
		c.Interface, err = kubernetes.NewForConfig(config)
	}
	if err != nil {
		t.Fatal(err)
	}
	shared.cluster = c
	return c
}

// namespace creates a namespace and returns its name.
func (c *cluster) namespace(t testing.TB) string {
	t.Helper()
	made, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "engine-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Name
}

// kubernetesFixture returns a fixture whose runs can reach the cluster.
func kubernetesFixture(t *testing.T) (f fixture, c *cluster, request func(program string) engine.Request) {
	t.Helper()
	c = startCluster(t)
	f = newFixture(t)
	link(t, f.tools(), "pulumi-resource-kubernetes")
	return f, c, func(program string) engine.Request {
		req := f.request(program)
		req.Kubeconfig = c.kubeconfig
		return req
	}
}

// tools returns the folder on PATH.
func (f fixture) tools() string { return f.Env[0][len("PATH="):] }

// link creates a link to a tool in a folder.
func link(t testing.TB, dir, name string) {
	t.Helper()
	if err := os.Symlink(toolchaintest.Path(t, name), filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}
