package stack_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/local/cloudtest"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller"
	"github.com/strata-platform/strata/test/long"
)

// cluster is an API server with the operator's kinds and a team's namespace.
type cluster struct {
	client.Client
	config     *rest.Config
	kubeconfig string
}

func startCluster(t *testing.T) cluster {
	t.Helper()
	env := &envtest.Environment{
		CRDDirectoryPaths: []string{"../../operator/config/crd/bases"}, ErrorIfCRDPathMissing: true,
	}
	env.ControlPlane.Etcd = &envtest.Etcd{Path: toolchaintest.Path(t, "etcd")}
	env.ControlPlane.GetAPIServer().Path = toolchaintest.Path(t, "kube-apiserver")
	config, err := env.Start()
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	admin, err := env.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := admin.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	collectGarbage(t, kubeconfig)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, pulumiv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-web"}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "team-web", Name: "web"}},
	} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return cluster{Client: c, config: config, kubeconfig: string(kubeconfig)}
}

// collectGarbage runs the garbage collector, which an API server does not contain. Without it, deleted objects would
// stay.
func collectGarbage(t *testing.T, kubeconfig []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	collector := exec.Command(toolchaintest.Path(t, "kube-controller-manager"), "--kubeconfig="+path,
		"--controllers=garbage-collector-controller", "--leader-elect=false", "--secure-port=0")
	if err := collector.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = collector.Process.Kill()
		_ = collector.Wait()
	})
}

// startOperator runs the operator until the test ends. It returns the URL of the backend that the team's Stacks may use.
func (c cluster) startOperator(t *testing.T) (backend string) {
	t.Helper()
	tools, backends := link(t, "pulumi", "pulumi-language-yaml"), t.TempDir()
	t.Setenv("PATH", tools)
	log, err := os.Create(filepath.Join(t.TempDir(), "operator.log"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- controller.Run(ctx, controller.Options{
			Config: c.config, PassEnv: []string{"PATH"}, WorkDir: t.TempDir(), FileBackendRoot: backends, Namespace: "default",
			RunMemory: 64 << 20, Log: slog.New(slog.NewTextHandler(log, nil)),
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("operator: %v", err)
		}
		if text, err := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the operator's log (%v):\n%s", err, text)
		}
	})
	return "file://" + filepath.Join(backends, "team-web")
}

// link creates a folder with links to some of the tools.
func link(t *testing.T, tools ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range tools {
		if err := os.Symlink(toolchaintest.Path(t, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func runner(t *testing.T) layers.Runner {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pulumi", "pulumi-resource-kubernetes"} {
		if err := os.Symlink(toolchaintest.Path(t, name), filepath.Join(dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	return layers.Runner{Stack: "dev", Pulumi: layers.Command(dir), WorkDir: func(layer string) string { return filepath.Join(dir, layer) }, Env: map[string]string{
		"PATH": filepath.Join(dir, "bin") + ":/usr/bin:/bin", "HOME": dir, "TMPDIR": dir, "PULUMI_HOME": filepath.Join(dir, ".pulumi"),
		"PULUMI_BACKEND_URL": "file://" + dir, "PULUMI_CONFIG_PASSPHRASE": "test",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true", "PULUMI_SKIP_UPDATE_CHECK": "true",
	}}
}

func checkOutputs(t *testing.T, r layers.Runner, l layers.Layer, want map[string]any) {
	t.Helper()
	outputs, err := r.Outputs(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if got := outputs["outputs"].Value; !reflect.DeepEqual(got, want) {
		t.Errorf("outputs are %v, want %v", got, want)
	}
}

func TestTheExampleIsUpWhenTheOperatorHasRunIt(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	r, backend := runner(t), c.startOperator(t)
	hello := cloudtest.Program(greeting("hello", backend, c.kubeconfig))
	cloudtest.Up(t, r, hello)
	checkOutputs(t, r, hello, map[string]any{"text": "hello, world"})
	cloudtest.Unchanged(t, r, hello)

	// The Stack itself does not change, but the provider still waits for its new outputs.
	goodbye := cloudtest.Program(greeting("goodbye", backend, c.kubeconfig))
	cloudtest.Changes(t, r, goodbye, map[string]int{"update": 2})
	checkOutputs(t, r, goodbye, map[string]any{"text": "goodbye, world"})

	var made pulumiv1.Stack
	key := client.ObjectKey{Namespace: "team-web", Name: "greeting"}
	if err := c.Get(t.Context(), key, &made); err != nil {
		t.Fatal(err)
	}
	for _, entry := range made.ManagedFields {
		if entry.Subresource == "" && strings.Contains(entry.Manager, "pulumi-kubernetes") && entry.Operation != metav1.ManagedFieldsOperationApply {
			t.Errorf("%s changes the Stack by %s, want server-side apply", entry.Manager, entry.Operation)
		}
	}
	if _, err := r.Destroy(t.Context(), goodbye, nil); err != nil {
		t.Fatal(err)
	}
	for _, object := range []client.Object{&pulumiv1.Stack{}, &pulumiv1.Program{}, &corev1.Secret{}} {
		if err := c.Get(t.Context(), key, object); !apierrors.IsNotFound(err) {
			t.Errorf("%T is still there: %v", object, err)
		}
	}
}
