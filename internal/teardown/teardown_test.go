package teardown_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/local/clustertest"
	"github.com/strata-platform/strata/internal/teardown"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/long"
)

// patience is longer than five seconds, after which Kubernetes first checks a deleted namespace.
const patience = 8 * time.Second

// cluster has the kinds of Flux and the operator, but runs neither. The tests act as their controllers.
type cluster struct {
	*clustertest.Cluster
	down *teardown.Cluster
	t    *testing.T
}

func start(t *testing.T) cluster {
	t.Helper()
	c := cluster{Cluster: clustertest.Start(t), t: t}
	kinds, err := filepath.Glob(filepath.Join(toolchaintest.Root(t), "operator", "config", "crd", "bases", "*.yaml"))
	if err != nil || len(kinds) == 0 {
		t.Fatalf("found no kinds of the operator: %v", err)
	}
	for _, path := range kinds {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c.create(string(content))
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(c.Kubeconfig(t, "127.0.0.1")))
	if err != nil {
		t.Fatal(err)
	}
	c.down, err = teardown.New(config,
		teardown.Namespaces{Flux: "flux-system", Platform: "platform", Operator: "operator", Teams: []string{"team-web"}},
		teardown.Options{Patience: patience, Limit: time.Minute, Kubectl: "kubectl --kubeconfig admin", FluxLogs: "strata logs kustomize-controller", Purge: "strata down --purge --yes"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"platform", "operator", "team-web"} {
		c.create("{apiVersion: v1, kind: Namespace, metadata: {name: " + name + "}}")
	}
	return c
}

func (c cluster) create(manifest string) *unstructured.Unstructured {
	c.t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), object); err != nil {
		c.t.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := c.Create(c.t.Context(), object)
		if err == nil {
			return object
		}
		// The API server serves a kind a moment after its creation.
		if !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) || time.Now().After(deadline) {
			c.t.Fatal(err)
		}
		select {
		case <-c.t.Context().Done():
			c.t.Fatal(c.t.Context().Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (c cluster) patch(object client.Object, content string) {
	c.t.Helper()
	if err := c.Patch(c.t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(content)), client.FieldOwner("somebody")); err != nil {
		c.t.Fatal(err)
	}
}

func (c cluster) free(object client.Object) {
	c.t.Helper()
	c.patch(object, `{"metadata":{"finalizers":null}}`)
}

func (c cluster) suspended(object client.Object) bool {
	c.t.Helper()
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	if err := c.Get(c.t.Context(), client.ObjectKeyFromObject(object), found); err != nil {
		c.t.Fatal(err)
	}
	is, _, _ := unstructured.NestedBool(found.Object, "spec", "suspend")
	return is
}

// blocked fails the test unless err reports these objects, with these words in its text.
func (c cluster) blocked(err error, objects []string, words ...string) {
	c.t.Helper()
	var blocked *teardown.Blocked
	if !errors.As(err, &blocked) {
		c.t.Fatalf("the error is %v, want Blocked", err)
	}
	var named []string
	for _, b := range blocked.Blockers {
		named = append(named, b.Object)
	}
	slices.Sort(named)
	if !slices.Equal(named, objects) {
		c.t.Errorf("the blockers are %q, want %q", named, objects)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			c.t.Errorf("the error does not contain %q:\n%v", word, err)
		}
	}
}

func silent(string) {}

const kustomization = `{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: NAME, namespace: SPACE, finalizers: [finalizers.fluxcd.io]},
  spec: {interval: 1m, prune: true, sourceRef: {kind: GitRepository, name: web}}}`

func sync(namespace, name string) string {
	return strings.NewReplacer("NAME", name, "SPACE", namespace).Replace(kustomization)
}

func TestAStackThatCannotBeDestroyedIsReportedAndResumeRestartsFlux(t *testing.T) {
	long.Test(t)
	c := start(t)
	web, paused := c.create(sync("team-web", "web")), c.create(sync("team-web", "paused"))
	c.patch(paused, `{"spec":{"suspend":true}}`)
	stack := c.create(`{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: shop, namespace: team-web, finalizers: [finalizer.stack.pulumi.com]},
  spec: {stack: dev, programRef: {name: shop}, destroyOnFinalize: true}}`)
	stack.Object["status"] = map[string]any{"lastUpdate": map[string]any{"type": "destroy", "state": "failed", "message": "instance strata\nis protected. To unprotect this resource, use `pulumi state unprotect`"}}
	if err := c.Status().Update(t.Context(), stack); err != nil {
		t.Fatal(err)
	}

	_, err := c.down.DestroyStacks(t.Context(), silent)
	c.blocked(err, []string{"Stack team-web/shop"}, "it cannot be destroyed: instance strata is protected: fix the cause", "set its spec.destroyOnFinalize to false",
		"`kubectl --kubeconfig admin -n team-web describe stack shop`", "`strata down --purge --yes`")
	if !c.suspended(web) {
		t.Error("Flux may apply the Stack again")
	}

	if err := c.down.Resume(t.Context(), silent); err != nil {
		t.Fatal(err)
	}
	if c.suspended(web) || !c.suspended(paused) {
		t.Errorf("web is suspended: %t, paused is suspended: %t", c.suspended(web), c.suspended(paused))
	}

	// Without the problem the teardown continues.
	c.free(stack)
	if count, err := c.down.DestroyStacks(t.Context(), silent); err != nil || count != 0 {
		t.Errorf("then %d Stacks are left (%v)", count, err)
	}
}

func TestABlockerOfANamespaceIsReportedAndItsEndEndsTheDeletion(t *testing.T) {
	long.Test(t)
	c := start(t)
	held := c.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: held, namespace: team-web, finalizers: [example.com/hold]}}`)
	c.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: team-web}}`)
	root := c.create(sync("platform", "platform"))

	_, err := c.down.Empty(t.Context(), silent)
	c.blocked(err, []string{"ConfigMap team-web/held", "Kustomization platform/platform"},
		"its finalizer example.com/hold delays its deletion", "`kubectl --kubeconfig admin -n team-web patch configmap held --type=merge",
		"finalizers.fluxcd.io has not removed the objects that it applied", "`strata logs kustomize-controller`")
	if left, err := c.down.Namespaces(t.Context()); err != nil || !slices.Contains(left, "operator") {
		t.Errorf("the operator's namespace was deleted before the platform's objects: %q are left (%v)", left, err)
	}

	c.free(held)
	c.free(root)
	if count, err := c.down.Empty(t.Context(), silent); err != nil || count == 0 {
		t.Errorf("without the finalizers: %d namespaces, %v", count, err)
	}
	// Empty returns when nothing delays the end of the namespaces any more.
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		left, err := c.down.Namespaces(ctx)
		return len(left) == 0, err
	})
	if err != nil {
		t.Errorf("the namespaces do not end: %v", err)
	}
}
