package node

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/operator/sandbox"
)

// testRemoteContent pushes content that makes a build fetch addresses. It bypasses the Git server's own check.
func testRemoteContent(t *testing.T, c *cluster) {
	if err := sandbox.Check(); err != nil {
		t.Skip(err)
	}
	var asked atomic.Int32
	bait := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, settings("red"))
	}))
	defer bait.Close()
	for name, kustomization := range map[string]string{
		"resources":  "resources: [BAIT/settings.yaml]\n",
		"git":        "resources: ['git::BAIT/app.git?ref=main']\n",
		"generators": "configMapGenerator: [{name: settings, files: ['x=BAIT/secret']}]\n",
		"components": "components: [BAIT/component]\n",
		"patches":    "resources: [settings.yaml]\npatches: [{path: BAIT/patch.yaml}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"deploy/settings.yaml": settings("green")}, nil)
			r.commit(t, map[string]string{"deploy/kustomization.yaml": strings.ReplaceAll(kustomization, "BAIT", bait.URL)})
			r.git(t, "push", "-q", r.bare, gitserver.Branch)
			ns := c.sourceOf(t, r)
			synced := c.apply(t, strings.ReplaceAll(`
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app, namespace: NAMESPACE}
spec:
  interval: 1h
  prune: true
  path: ./deploy
  targetNamespace: NAMESPACE
  sourceRef: {kind: GitRepository, name: app}
`, "NAMESPACE", ns))
			c.waitBuildFailed(t, ns)
			if n := asked.Load(); n > 0 {
				t.Errorf("the build sent %d requests", n)
			}
			c.remove(t, synced)
		})
	}
}

// waitBuildFailed waits until the Kustomization "app" reports a failed build.
func (c *cluster) waitBuildFailed(t *testing.T, namespace string) {
	t.Helper()
	api, o := c.any(t), &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"})
	nodetest.Eventually(t, "the build fails", func() error {
		if err := api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "app"}, o); err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, condition := range conditions {
			if m := condition.(map[string]any); m["type"] == "Ready" && m["status"] == "False" && m["reason"] == "BuildFailed" {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", conditions)
	})
}
