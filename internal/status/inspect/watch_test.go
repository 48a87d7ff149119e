package inspect

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/snapshot"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/teams"
)

// seenCluster is an API server with the namespace of team web. It counts requests.
type seenCluster struct {
	testing.TB
	config *rest.Config
	client dynamic.Interface
	// lists counts list requests for ServiceAccounts, as a sample of the kinds that the cluster knows. Watches do not
	// count.
	lists atomic.Int64
}

func startCluster(t testing.TB) *seenCluster {
	t.Helper()
	env := &envtest.Environment{}
	env.ControlPlane.Etcd = &envtest.Etcd{Path: toolchaintest.Path(t, "etcd")}
	env.ControlPlane.GetAPIServer().Path = toolchaintest.Path(t, "kube-apiserver")
	config, err := env.Start()
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	c := &seenCluster{TB: t, config: rest.CopyConfig(config)}
	c.config.QPS = -1
	c.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Query().Get("watch") == "" && r.URL.Path == "/api/v1/serviceaccounts" {
				c.lists.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	plain := rest.CopyConfig(config)
	plain.QPS = -1
	if c.client, err = dynamic.NewForConfig(plain); err != nil {
		t.Fatal(err)
	}
	c.create("namespaces", "", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "team-web"}})
	c.create("namespaces", "", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": graph.FluxNamespace}})
	return c
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (c *seenCluster) create(resource, namespace string, object map[string]any) {
	c.Helper()
	i := slices.IndexFunc(snapshot.Kinds[:], func(k snapshot.Kind) bool { return k.Resource.Resource == resource })
	_, err := c.client.Resource(snapshot.Kinds[i].Resource).Namespace(namespace).Create(c.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
}

// addStacks adds the kind Stack, and count Stacks with outputs of the given size in bytes.
func (c *seenCluster) addStacks(count, bytes int) {
	c.Helper()
	if _, err := envtest.InstallCRDs(c.config, envtest.CRDInstallOptions{Paths: []string{"../../../operator/config/crd/bases"}}); err != nil {
		c.Fatal(err)
	}
	i := slices.IndexFunc(snapshot.Kinds[:], func(k snapshot.Kind) bool { return k.Name == "Stack" })
	stacks := c.client.Resource(snapshot.Kinds[i].Resource).Namespace("team-web")
	for n := range count {
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "pulumi.com/v1", "kind": "Stack", "metadata": map[string]any{"name": fmt.Sprintf("stack-%03d", n)},
			"spec": map[string]any{"stack": "dev", "programRef": map[string]any{"name": "none"}},
		}}
		created, err := stacks.Create(c.Context(), o, metav1.CreateOptions{})
		if err != nil {
			c.Fatal(err)
		}
		created.Object["status"] = map[string]any{"outputs": map[string]any{"large": strings.Repeat("x", bytes)}}
		if _, err := stacks.UpdateStatus(c.Context(), created, metav1.UpdateOptions{}); err != nil {
			c.Fatal(err)
		}
	}
}

var scopeOfWeb = graph.Scope{Teams: []teams.Team{web}}

// until requests reports until one satisfies a condition. what describes the condition.
func (c *seenCluster) until(w *Watch, what string, wanted func(status.Report) bool) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), 2*time.Minute)
	defer cancel()
	for {
		report, err := w.Report(ctx, c.config, scopeOfWeb)
		if err != nil {
			c.Fatalf("wait until %s: %v", what, err)
		}
		if wanted(report) {
			return
		}
		select {
		case <-w.Changed():
		case <-ctx.Done():
			c.Fatalf("timeout: wait until %s", what)
		}
	}
}

// contains returns a condition: the report contains an object that exists.
func contains(kind, name string) func(status.Report) bool {
	return func(r status.Report) bool {
		return slices.ContainsFunc(r.Items, func(i status.Item) bool { return i.Kind == kind && i.Name == name && i.Reason != status.ReasonMissing })
	}
}

func TestAWatchSeesChangesAndListsOnce(t *testing.T) {
	c := startCluster(t)
	var w Watch
	t.Cleanup(w.Stop)
	c.until(&w, "there is a first report", func(status.Report) bool { return true })
	listed := c.lists.Load()
	account := map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "web"}}
	c.create("serviceaccounts", "team-web", account)
	c.until(&w, "the report contains a new account", contains("ServiceAccount", "web"))
	if _, err := w.Report(t.Context(), c.config, scopeOfWeb); err != nil {
		t.Fatal(err)
	}
	if more := c.lists.Load() - listed; more > 0 {
		t.Errorf("the watch has sent %d more list requests", more)
	}
	c.addStacks(1, 100)
	c.until(&w, "the report contains a Stack of a new kind", contains("Stack", "stack-000"))
	once, err := Collect(t.Context(), c.config, scopeOfWeb)
	if err != nil {
		t.Fatal(err)
	}
	c.until(&w, "the reports of the watch and of Collect are equal", func(r status.Report) bool { return slices.Equal(r.Items, once.Items) })
}

func TestAWatchReportsAnUnreachableCluster(t *testing.T) {
	c := startCluster(t)
	var w Watch
	t.Cleanup(w.Stop)
	c.until(&w, "there is a first report", func(status.Report) bool { return true })
	away := rest.CopyConfig(c.config)
	away.Host = "https://127.0.0.1:1"
	if _, err := w.Report(t.Context(), away, scopeOfWeb); err == nil {
		t.Error("an unreachable cluster has a report")
	}
	c.until(&w, "the watch works again", func(status.Report) bool { return true })
}

// BenchmarkStatusOf500Stacks measures a look, and a report of a watch, with 500 Stacks in one namespace with 10 kB of
// outputs each.
func BenchmarkStatusOf500Stacks(b *testing.B) {
	c := startCluster(b)
	const stacks, bytes = 500, 10 << 10
	c.addStacks(stacks, bytes)
	var w Watch
	b.Cleanup(w.Stop)
	for name, look := range map[string]Look{"look": Collect, "watch": w.Report} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := look(b.Context(), c.config, scopeOfWeb); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
