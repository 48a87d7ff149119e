// Package publish publishes artifacts to the registry of a home, and attacks them: Flux's own source-controller decides.
package publish

import (
	"context"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/clustertest"
	"github.com/strata-platform/strata/internal/local/machine/images/registry"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
	"github.com/strata-platform/strata/internal/local/machine/process"
	"github.com/strata-platform/strata/internal/publish"
	"github.com/strata-platform/strata/internal/signing"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

const (
	namespace  = "team-web"
	repository = namespace + "/deploy"
	keys       = "strata-publisher"
)

// site is a cluster with source-controller, and the registry of a home.
type site struct {
	*clustertest.Cluster
	host string
	key  *signing.Key
	// env are variables of source-controller, in addition to those of start.
	env []string
}

func newSite(t *testing.T, env ...string) *site {
	t.Helper()
	s := &site{Cluster: clustertest.Start(t), env: env}
	kept, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	all := func(string) bool { return true }
	server := registry.New(kept, "registry.strata.local", 1<<30, func(_, password string) (registry.Grant, bool) {
		return registry.Grant{Pull: all, Push: all}, password == "secret"
	})
	t.Cleanup(server.Close)
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	s.host = strings.TrimPrefix(listening.URL, "http://")
	if s.key, err = signing.EnsureKey("the key", filepath.Join(t.TempDir(), "web.key")); err != nil {
		t.Fatal(err)
	}
	for each, labels := range map[string]map[string]string{"flux-system": nil, namespace: {"strata.dev/team": "web"}} {
		if err := s.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: each, Labels: labels}}); err != nil {
			t.Fatal(err)
		}
	}
	s.secrets(t)
	s.start(t, t.TempDir())
	return s
}

// secrets creates the Secrets of a source: the public key, and the login.
func (s *site) secrets(t *testing.T) {
	t.Helper()
	public, err := s.key.PublicPEM()
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range []*corev1.Secret{
		{ObjectMeta: metav1.ObjectMeta{Name: keys, Namespace: namespace}, StringData: map[string]string{"strata.pub": public}},
		{
			ObjectMeta: metav1.ObjectMeta{Name: "login", Namespace: namespace}, Type: corev1.SecretTypeDockerConfigJson,
			StringData: map[string]string{".dockerconfigjson": `{"auths": {"` + s.host + `": {"username": "web", "password": "secret"}}}`},
		},
	} {
		if err := s.Create(t.Context(), each); err != nil {
			t.Fatal(err)
		}
	}
}

// start starts source-controller with a folder, and returns a function that stops it. The environment names proxies that do not
// exist, so that a call to any other machine fails.
func (s *site) start(t *testing.T, dir string) (stop func()) {
	t.Helper()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(s.Kubeconfig(t, "127.0.0.1")), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	log := filepath.Join(dir, "source-controller.log")
	run, err := process.Start(process.Spec{
		Name: "source-controller", Path: toolchaintest.Path(t, "source-controller"), Log: log,
		Args: []string{
			"--metrics-addr=0", "--health-addr=127.0.0.1:0", "--enable-leader-election=false", "--log-encoding=json", "--events-addr=",
			"--storage-addr=" + address, "--storage-adv-addr=" + address, "--storage-path=" + dir,
		},
		Env: append([]string{
			"KUBECONFIG=" + kubeconfig, "RUNTIME_NAMESPACE=flux-system", "TMPDIR=" + dir, "HOME=" + dir, "PATH=" + os.Getenv("PATH"),
			"HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:1", "NO_PROXY=127.0.0.1",
		}, s.env...),
	})
	if err != nil {
		t.Fatal(err)
	}
	stop = func() { run.Stop(5 * time.Second) }
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			content, _ := os.ReadFile(log)
			lines := strings.Split(string(content), "\n")
			t.Logf("source-controller:\n%s", strings.Join(lines[max(0, len(lines)-40):], "\n"))
		}
	})
	return stop
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// login is the login of the team.
func login() authn.Authenticator { return &authn.Basic{Username: "web", Password: "secret"} }

// tree writes a tree of one file.
func tree(t *testing.T, content string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// publish publishes a tree.
func (s *site) publish(t *testing.T, content, version string, key *signing.Key) publish.Result {
	t.Helper()
	result, err := publish.Publish(t.Context(), publish.Options{
		Dir: tree(t, content), Repository: s.host + "/" + repository, Insecure: true, Login: login(), Version: version, Key: key,
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// source returns an OCIRepository that follows the highest version, as layer 2 creates it, with a change.
func (s *site) source(name string, change func(spec map[string]any)) *unstructured.Unstructured {
	spec := map[string]any{
		"interval": "1s", "url": "oci://" + s.host + "/" + repository, "insecure": true, "provider": "generic",
		"ref": map[string]any{"semver": ">=0.0.0"}, "secretRef": map[string]any{"name": "login"},
		"verify": map[string]any{"provider": "cosign", "secretRef": map[string]any{"name": keys}},
	}
	if change != nil {
		change(spec)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository",
		"metadata": map[string]any{"namespace": namespace, "name": name}, "spec": spec,
	}}
}

// follow creates an OCIRepository.
func (s *site) follow(t *testing.T, name string, change func(spec map[string]any)) *unstructured.Unstructured {
	t.Helper()
	source := s.source(name, change)
	if err := s.Create(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	return source
}

// until waits until a source satisfies a condition.
func (s *site) until(t *testing.T, source *unstructured.Unstructured, what string, met func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		if err := s.Get(ctx, client.ObjectKeyFromObject(source), source); err != nil {
			return false, err
		}
		return met(), nil
	})
	if err != nil {
		t.Fatalf("%s: %v: the status is %v", what, err, source.Object["status"])
	}
}

// revision returns the revision of the artifact of a source.
func revision(source *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(source.Object, "status", "artifact", "revision")
	return text
}

// condition returns the status and the message of a condition.
func condition(source *unstructured.Unstructured, kind string) (status, message string) {
	all, _, _ := unstructured.NestedSlice(source.Object, "status", "conditions")
	for _, each := range all {
		if c := each.(map[string]any); c["type"] == kind {
			return c["status"].(string), c["message"].(string)
		}
	}
	return "", ""
}
