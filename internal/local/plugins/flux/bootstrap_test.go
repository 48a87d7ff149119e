package flux

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/plugins/flux/bootstrap"
	fluxcluster "github.com/strata-platform/strata/internal/local/plugins/flux/cluster"
	"github.com/strata-platform/strata/internal/local/plugins/flux/options"
	"github.com/strata-platform/strata/internal/local/plugins/flux/uninstall"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/long"
)

const testOverride = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- gotk-components.yaml
- gotk-sync.yaml
patches:
- patch: |
    - op: add
      path: /spec/template/spec/containers/0/args/-
      value: --no-cross-namespace-refs=true
  target:
    kind: Deployment
    name: kustomize-controller
- patch: |
    - op: add
      path: /spec/serviceAccountName
      value: kustomize-controller
  target:
    kind: Kustomization
    name: flux-system
`

func testOptions(t *testing.T, c *cluster, g *gitServer) options.Options {
	return options.Options{
		Config:    options.Config{Kubernetes: c.kubernetes, Git: g.config()},
		Manifests: toolchaintest.Path(t, "flux-manifests"),
		Install: options.Install{
			Components:            []string{"source-controller", "kustomize-controller"},
			KustomizationOverride: testOverride,
			Interval:              "1s",
			Path:                  "clusters/test",
			Timeouts:              options.Timeouts{Create: "2m", Delete: "2m"},
		},
	}
}

func TestLifecycle(t *testing.T) {
	long.Test(t)
	c, g := newCluster(t), newGitServer(t)
	o := testOptions(t, c, g)

	began := time.Now()
	files, err := bootstrap.Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("first bootstrap: %s", time.Since(began).Round(time.Millisecond))

	t.Run("the repository contains the returned files, in one commit", func(t *testing.T) {
		if got, want := g.files(t), paths(files); !slices.Equal(got, want) {
			t.Errorf("files are %q, want %q", got, want)
		}
		for p, content := range files {
			if g.show(t, p) != content {
				t.Errorf("%s differs from the returned file", p)
			}
			if strings.Contains(content, g.password) {
				t.Errorf("%s contains the password", p)
			}
		}
		if got := g.commits(t); !slices.Equal(got, []string{"Flux: Add Flux v2.9.4 manifests"}) {
			t.Errorf("commits are %q", got)
		}
	})
	t.Run("the override takes effect", func(t *testing.T) {
		d := deployment("kustomize-controller")
		if !c.exists(t, d) || !slices.Contains(d.Spec.Template.Spec.Containers[0].Args, "--no-cross-namespace-refs=true") {
			t.Error("kustomize-controller does not have the patched argument")
		}
		root := &kustomizev1.Kustomization{ObjectMeta: named(fluxNamespace, fluxNamespace)}
		if !c.exists(t, root) || root.Spec.ServiceAccountName != "kustomize-controller" {
			t.Errorf("the root sync runs as %q", root.Spec.ServiceAccountName)
		}
	})
	t.Run("the source's Secret contains the credentials", func(t *testing.T) {
		s := &corev1.Secret{ObjectMeta: named(fluxNamespace, fluxNamespace)}
		if !c.exists(t, s) || string(s.Data["username"]) != g.username || string(s.Data["password"]) != g.password {
			t.Error("Secret flux-system does not contain the username and the password")
		}
	})
	t.Run("a second bootstrap changes nothing", func(t *testing.T) {
		began := time.Now()
		again, err := bootstrap.Run(t.Context(), o, paths(files))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("second bootstrap: %s", time.Since(began).Round(time.Millisecond))
		if !maps.Equal(again, files) || len(g.commits(t)) != 1 {
			t.Errorf("files or commits changed: %q", g.commits(t))
		}
	})
	t.Run("an update adds and removes components only", func(t *testing.T) { testComponents(t, c, g, o, files) })
	t.Run("another version is installed in place", func(t *testing.T) { testVersion(t, c, o, files) })
	t.Run("uninstall prunes the syncs and removes Flux", func(t *testing.T) {
		g.push(t, "apps/app.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app, namespace: default}\n")
		app := newSync("apps", "./apps")
		if err := c.Create(t.Context(), app); err != nil {
			t.Fatal(err)
		}
		cm := &corev1.ConfigMap{ObjectMeta: named("default", "app")}
		eventually(t, "Flux applies the app", func() bool { return c.exists(t, cm) })
		began := time.Now()
		if err := uninstall.Run(t.Context(), o, paths(files)); err != nil {
			t.Fatal(err)
		}
		t.Logf("uninstall: %s", time.Since(began).Round(time.Millisecond))
		if c.exists(t, cm) {
			t.Error("the object that the sync applied still exists")
		}
		assertGone(t, c)
		if got := g.files(t); !slices.Equal(got, []string{"apps/app.yaml"}) {
			t.Errorf("the repository contains %q", got)
		}
	})
	t.Run("a second uninstall succeeds", func(t *testing.T) {
		if err := uninstall.Run(t.Context(), o, paths(files)); err != nil {
			t.Fatal(err)
		}
		if got := g.commits(t)[0]; got != "Flux: Uninstall Flux" {
			t.Errorf("the last commit is %q", got)
		}
	})
	t.Run("uninstall ends although the controllers are dead", func(t *testing.T) {
		if _, err := bootstrap.Run(t.Context(), o, nil); err != nil {
			t.Fatal(err)
		}
		app := newSync("apps", "./apps")
		if err := c.Create(t.Context(), app); err != nil {
			t.Fatal(err)
		}
		eventually(t, "kustomize-controller adds its finalizer", func() bool { return c.exists(t, app) && len(app.Finalizers) > 0 })
		c.node.kill()
		eventually(t, "the Deployment is not available", func() bool {
			d := deployment("kustomize-controller")
			return c.exists(t, d) && d.Status.AvailableReplicas == 0
		})
		if err := uninstall.Run(t.Context(), o, paths(files)); err != nil {
			t.Fatal(err)
		}
		assertGone(t, c)
	})
}

func assertGone(t *testing.T, c *cluster) {
	t.Helper()
	if c.exists(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fluxNamespace}}) {
		t.Error("the namespace still exists")
	}
	var crds apiextensionsv1.CustomResourceDefinitionList
	if err := c.List(t.Context(), &crds); err != nil {
		t.Fatal(err)
	}
	if len(crds.Items) > 0 {
		t.Errorf("%d CustomResourceDefinitions still exist", len(crds.Items))
	}
	var roles rbacv1.ClusterRoleList
	var bindings rbacv1.ClusterRoleBindingList
	for _, list := range []client.ObjectList{&roles, &bindings} {
		if err := c.List(t.Context(), list, fluxcluster.PartOfFlux()); err != nil {
			t.Fatal(err)
		}
		if n := apimeta.LenList(list); n > 0 {
			t.Errorf("%d objects of %T still exist", n, list)
		}
	}
}

func deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: named(fluxNamespace, name)}
}

func newSync(name, path string) *kustomizev1.Kustomization {
	return &kustomizev1.Kustomization{
		ObjectMeta: named(fluxNamespace, name),
		Spec: kustomizev1.KustomizationSpec{
			Interval:  metav1.Duration{Duration: time.Second},
			Path:      path,
			Prune:     true,
			SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: fluxNamespace},
		},
	}
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}
