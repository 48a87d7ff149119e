package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/gitserver"
)

// gitSource makes a Git repository with these files, and a namespace with a GitRepository "app" that leads to it.
func (c *cluster) gitSource(t *testing.T, files map[string]string) (namespace string) {
	t.Helper()
	const secret = "of the test"
	server, err := gitserver.New(t.TempDir(), secret, log.New(t.Output(), "", 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Create(t.Context(), "app"); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	password := gitserver.Password(secret, "app")
	for _, args := range [][]string{
		{"init", "-q", "-b", gitserver.Branch}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "first"},
		{"push", "-q", strings.Replace(web.URL, "://", "://app:"+password+"@", 1) + "/app.git", gitserver.Branch},
	} {
		git := exec.CommandContext(t.Context(), "git", args...)
		git.Dir, git.Env = dir, []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	namespace = c.namespace(t)
	c.secret(t, namespace, "git", map[string]string{"username": "app", "password": password})
	c.apply(t, fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: app, namespace: %s}
spec:
  interval: 1h
  url: %s/app.git
  ref: {branch: main}
  secretRef: {name: git}
`, namespace, web.URL))
	return namespace
}

// waitReady waits until an object of Flux says that it is ready.
func (c *cluster) waitReady(t *testing.T, group, version, kind, namespace, name string) {
	t.Helper()
	api, o := c.any(t), &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	eventually(t, kind+" "+name+" is ready", func() error {
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

// fluxEvent is what Flux's generic provider sends, as far as the test looks at it.
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
	ns := c.gitSource(t, map[string]string{"deploy/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: green}\n"})
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
	eventually(t, "the receiver hears of the Kustomization", func() error {
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
		if p.Annotations[RuntimeAnnotation] != RuntimeSimulated {
			t.Errorf("the annotations of %s are %v", p.Name, p.Annotations)
		}
	}
	if err != nil || len(pods.Items) != 2 {
		t.Errorf("there are %d pods, want 2 that are ready: %v", len(pods.Items), err)
	}
	c.remove(t, released)
	eventually(t, "the pods of the release are gone", func() error {
		pods, err := c.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
		if err == nil && len(pods.Items) > 0 {
			err = fmt.Errorf("there are %d", len(pods.Items))
		}
		return err
	})
}
