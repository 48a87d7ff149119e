package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/webhook"
)

// repository is the Git repository "app" of a test, and the folder from which the test pushes.
type repository struct {
	url, username, password string
	folder                  string

	// bare is the path of the repository. A push to it bypasses the server's check, as at a forge.
	bare string
}

// newRepository creates a repository with these files. pushed may be nil.
func newRepository(t *testing.T, files map[string]string, pushed func(repository string)) *repository {
	t.Helper()
	const secret = "of the test"
	root := t.TempDir()
	server, err := gitserver.New(root, secret, log.New(t.Output(), "", 0), pushed)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Create(t.Context(), "app"); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	r := &repository{url: web.URL + "/app.git", username: "app", password: gitserver.Password(secret, "app"), folder: t.TempDir(), bare: filepath.Join(root, "app.git")}
	r.git(t, "init", "-q", "-b", gitserver.Branch)
	r.push(t, files)
	return r
}

// push commits these files and pushes them.
func (r *repository) push(t *testing.T, files map[string]string) {
	t.Helper()
	r.commit(t, files)
	r.git(t, "push", "-q", strings.Replace(r.url, "://", "://"+r.username+":"+r.password+"@", 1), gitserver.Branch)
}

func (r *repository) commit(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(r.folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.git(t, "add", ".")
	r.git(t, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "change")
}

func (r *repository) git(t *testing.T, args ...string) {
	t.Helper()
	git := exec.CommandContext(t.Context(), "git", args...)
	git.Dir, git.Env = r.folder, []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + r.folder, "PATH=" + os.Getenv("PATH")}
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
}

// gitSource creates a namespace with a GitRepository "app" for a repository with these files.
func (c *cluster) gitSource(t *testing.T, files map[string]string) (namespace string) {
	t.Helper()
	return c.sourceOf(t, newRepository(t, files, nil))
}

func (c *cluster) sourceOf(t *testing.T, r *repository) (namespace string) {
	t.Helper()
	namespace = c.namespace(t)
	c.secret(t, namespace, "git", map[string]string{"username": r.username, "password": r.password})
	c.apply(t, fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: app, namespace: %s}
spec:
  interval: 1h
  url: %s
  ref: {branch: main}
  secretRef: {name: git}
`, namespace, r.url))
	return namespace
}

// waitReady waits until a Flux object is ready.
func (c *cluster) waitReady(t *testing.T, group, version, kind, namespace, name string) {
	t.Helper()
	api, o := c.any(t), &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	nodetest.Eventually(t, kind+" "+name+" is ready", func() error {
		if err := api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, condition := range conditions {
			if m := condition.(map[string]any); m["type"] == "Ready" && m["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", conditions)
	})
}

// fluxEvent is the part of an event of Flux's generic provider that the test checks.
type fluxEvent struct {
	InvolvedObject corev1.ObjectReference
	Severity       string
	Reason         string
}

func testAlert(t *testing.T, c *cluster) {
	var mu sync.Mutex
	var events []fluxEvent
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var e fluxEvent
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e)
	}))
	t.Cleanup(receiver.Close)
	ns := c.gitSource(t, map[string]string{"deploy/settings.yaml": settings("green")})
	synced := c.apply(t, strings.NewReplacer("NAMESPACE", ns, "RECEIVER", receiver.URL).Replace(`
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: receiver, namespace: NAMESPACE}
spec: {type: generic, address: RECEIVER}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: all, namespace: NAMESPACE}
spec:
  providerRef: {name: receiver}
  eventSources: [{kind: Kustomization, name: "*"}]
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app, namespace: NAMESPACE}
spec:
  interval: 1h
  prune: true
  path: ./deploy
  targetNamespace: NAMESPACE
  sourceRef: {kind: GitRepository, name: app}
`))
	c.waitReady(t, "kustomize.toolkit.fluxcd.io", "v1", "Kustomization", ns, "app")
	if _, err := c.CoreV1().ConfigMaps(ns).Get(t.Context(), "settings", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	nodetest.Eventually(t, "the receiver hears of the Kustomization", func() error {
		mu.Lock()
		defer mu.Unlock()
		for _, e := range events {
			if o := e.InvolvedObject; o.Kind == "Kustomization" && o.Namespace == ns && o.Name == "app" && e.Severity == "info" && e.Reason == "ReconciliationSucceeded" {
				return nil
			}
		}
		return fmt.Errorf("it has heard %+v", events)
	})
	c.remove(t, synced)
	if _, err := c.CoreV1().ConfigMaps(ns).Get(t.Context(), "settings", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what the Kustomization applied is there still: %v", err)
	}
}

// forged is the tests' cluster as a webhook.Cluster.
type forged struct{ *cluster }

func (f forged) Admin() *rest.Config { return f.config }

func (f forged) DialService(namespace, service string, port int32) (net.Conn, error) {
	return f.node.DialService(namespace, service, port)
}

// testReceiver pushes to a repository that Flux would check only after an hour.
func testReceiver(t *testing.T, c *cluster) {
	var forge *webhook.Sender
	r := newRepository(t, map[string]string{"deploy/settings.yaml": settings("green")}, func(name string) {
		if forge != nil {
			forge.Pushed(name)
		}
	})
	forge = webhook.New(t.Context(), forged{c}, func(string) string { return r.url }, slog.New(slog.NewTextHandler(t.Output(), nil)))
	ns := c.sourceOf(t, r)
	c.secret(t, ns, "app-webhook", map[string]string{"token": "of the test"})
	synced := c.apply(t, strings.NewReplacer("NAMESPACE", ns, "URL", r.url).Replace(`
apiVersion: notification.toolkit.fluxcd.io/v1
kind: Receiver
metadata: {name: app, namespace: NAMESPACE, annotations: {strata.dev/repositories: URL}}
spec:
  type: generic-hmac
  secretRef: {name: app-webhook}
  resources: [{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, name: app}]
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app, namespace: NAMESPACE}
spec:
  interval: 1h
  prune: true
  path: ./deploy
  targetNamespace: NAMESPACE
  sourceRef: {kind: GitRepository, name: app}
`))
	c.waitReady(t, "notification.toolkit.fluxcd.io", "v1", "Receiver", ns, "app")
	c.waitReady(t, "kustomize.toolkit.fluxcd.io", "v1", "Kustomization", ns, "app")

	r.push(t, map[string]string{"deploy/settings.yaml": settings("blue")})
	nodetest.Eventually(t, "what was pushed is applied", func() error {
		found, err := c.CoreV1().ConfigMaps(ns).Get(t.Context(), "settings", metav1.GetOptions{})
		if err == nil && found.Data["colour"] != "blue" {
			err = fmt.Errorf("it is %v", found.Data)
		}
		return err
	})
	// The error names a failing Receiver. The other Receivers still get the notification.
	c.secret(t, ns, "other-webhook", map[string]string{"token": "another"})
	c.apply(t, strings.NewReplacer("NAMESPACE", ns, "URL", r.url).Replace(`
apiVersion: notification.toolkit.fluxcd.io/v1
kind: Receiver
metadata: {name: lost, namespace: NAMESPACE, annotations: {strata.dev/repositories: URL}}
spec:
  type: generic-hmac
  secretRef: {name: other-webhook}
  resources: [{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, name: lost}]
`))
	if err := forge.Send(t.Context(), "app"); err == nil || !strings.Contains(err.Error(), "notify Receiver "+ns+"/lost: ") {
		t.Errorf("a receiver of a source that is not there: the error is %v", err)
	}
	c.remove(t, synced)
}

func settings(colour string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: " + colour + "}\n"
}

func testHelmRelease(t *testing.T, c *cluster) {
	ns := c.gitSource(t, map[string]string{
		"chart/Chart.yaml":  "apiVersion: v2\nname: web\nversion: 1.2.3\n",
		"chart/values.yaml": "replicas: 1\n",
		"chart/templates/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "nginx:1.27"}]
`})
	released := c.apply(t, strings.NewReplacer("NAMESPACE", ns).Replace(`
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: NAMESPACE}
spec:
  interval: 1h
  chart:
    spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: app}}
  values: {replicas: 2}
`))
	c.waitReady(t, "helm.toolkit.fluxcd.io", "v2", "HelmRelease", ns, "web")
	pods, err := c.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		err = errors.Join(err, isReady(&p))
		if p.Annotations[runtime.Annotation] != runtime.Simulated {
			t.Errorf("the annotations of %s are %v", p.Name, p.Annotations)
		}
	}
	if err != nil || len(pods.Items) != 2 {
		t.Errorf("there are %d pods, want 2 that are ready: %v", len(pods.Items), err)
	}
	c.remove(t, released)
	nodetest.Eventually(t, "the pods of the release are gone", func() error {
		pods, err := c.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
		if err == nil && len(pods.Items) > 0 {
			err = fmt.Errorf("there are %d", len(pods.Items))
		}
		return err
	})
}
