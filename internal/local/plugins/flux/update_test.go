package flux

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/plugins/flux/bootstrap"
	fluxcluster "github.com/strata-platform/strata/internal/local/plugins/flux/cluster"
	"github.com/strata-platform/strata/internal/local/plugins/flux/options"
	"github.com/strata-platform/strata/test/long"
)

// definitions returns the UIDs of Flux's kinds, by group.
func (c *cluster) definitions(t *testing.T) map[string][]string {
	t.Helper()
	var crds apiextensionsv1.CustomResourceDefinitionList
	if err := c.List(t.Context(), &crds, fluxcluster.PartOfFlux()); err != nil {
		t.Fatal(err)
	}
	uids := map[string][]string{}
	for _, crd := range crds.Items {
		uids[crd.Spec.Group] = append(uids[crd.Spec.Group], string(crd.UID))
	}
	return uids
}

// testComponents adds the two optional controllers and an object for each, and removes the controllers.
func testComponents(t *testing.T, c *cluster, g *gitServer, o options.Options, files map[string]string) {
	before := c.definitions(t)
	more := o
	more.Install.Components = []string{"source-controller", "kustomize-controller", "helm-controller", "notification-controller"}
	if _, err := bootstrap.Run(t.Context(), more, paths(files)); err != nil {
		t.Fatal(err)
	}
	g.push(t, "chart/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.2.3\n")
	g.push(t, "chart/templates/web.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: released}\n")
	release := &helmv2.HelmRelease{
		ObjectMeta: named("default", "web"),
		Spec: helmv2.HelmReleaseSpec{
			Interval: metav1.Duration{Duration: time.Hour},
			Chart: &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
				Chart: "./chart", SourceRef: helmv2.CrossNamespaceObjectReference{Kind: sourcev1.GitRepositoryKind, Name: fluxNamespace, Namespace: fluxNamespace},
			}},
		},
	}
	receiver := &notificationv1.Receiver{ObjectMeta: named("default", "web"), Spec: notificationv1.ReceiverSpec{
		Type: notificationv1.GenericReceiver, SecretRef: &meta.LocalObjectReference{Name: "token"},
		Resources: []notificationv1.ReceiverResource{{CrossNamespaceObjectReference: notificationv1.CrossNamespaceObjectReference{Kind: "GitRepository", Name: "web"}}},
	}}
	for _, object := range []client.Object{release, receiver} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "helm-controller installs the release", func() bool {
		return c.exists(t, release) && apimeta.IsStatusConditionTrue(release.Status.Conditions, meta.ReadyCondition)
	})
	eventually(t, "notification-controller adds its finalizer", func() bool { return c.exists(t, receiver) && len(receiver.Finalizers) > 0 })

	began := time.Now()
	if _, err := bootstrap.Run(t.Context(), o, append(paths(files), "chart/Chart.yaml", "chart/templates/web.yaml")); err != nil {
		t.Fatal(err)
	}
	t.Logf("update: %s", time.Since(began).Round(time.Millisecond))
	for _, name := range []string{"helm-controller", "notification-controller"} {
		if c.exists(t, deployment(name)) || c.exists(t, &corev1.ServiceAccount{ObjectMeta: named(fluxNamespace, name)}) {
			t.Errorf("%s or its account still exists", name)
		}
	}
	after := c.definitions(t)
	if len(after) != len(before) {
		t.Errorf("the groups of Flux's kinds are %v, want %v", after, before)
	}
	for group, uids := range before {
		if !slices.Equal(after[group], uids) {
			t.Errorf("the kinds of %s were recreated", group)
		}
	}
	released := &corev1.ConfigMap{ObjectMeta: named("default", "released")}
	if !c.exists(t, released) {
		t.Error("removing helm-controller removed the object of the release")
	} else if err := c.Delete(t.Context(), released); err != nil {
		t.Error(err)
	}
}

// testVersion installs another version, whose manifests differ only in the name of the version, and then the default
// version again.
func testVersion(t *testing.T, c *cluster, o options.Options, files map[string]string) {
	const version = "v2.9.0"
	other := o
	other.Install.Version, other.Manifests = version, t.TempDir()
	if err := os.CopyFS(filepath.Join(other.Manifests, version), os.DirFS(o.Manifests)); err != nil {
		t.Fatal(err)
	}
	root := &kustomizev1.Kustomization{ObjectMeta: named(fluxNamespace, fluxNamespace)}
	if !c.exists(t, root) {
		t.Fatal("the root sync does not exist")
	}
	uid := root.UID
	for _, step := range []struct {
		options options.Options
		version string
	}{{other, version}, {o, options.DefaultVersion}} {
		if _, err := bootstrap.Run(t.Context(), step.options, paths(files)); err != nil {
			t.Fatal(err)
		}
		d := deployment("source-controller")
		if !c.exists(t, d) || d.Labels["app.kubernetes.io/version"] != step.version || d.Status.AvailableReplicas != 1 {
			t.Errorf("source-controller is version %s with %d replicas available, want version %s", d.Labels["app.kubernetes.io/version"], d.Status.AvailableReplicas, step.version)
		}
	}
	if !c.exists(t, root) || root.UID != uid {
		t.Error("the root sync was recreated")
	}
}

func TestMoveToAnotherRepository(t *testing.T) {
	long.Test(t)
	c, old, next := newCluster(t), newGitServer(t), newGitServer(t)
	next.setPassword("the-next-canary")
	o := testOptions(t, c, old)
	files, err := bootstrap.Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	moved := testOptions(t, c, next)
	moved.Git.HTTP.Password = "the-next-canary"
	if _, err := bootstrap.Run(t.Context(), moved, paths(files)); err != nil {
		t.Fatal(err)
	}
	if got := next.files(t); !slices.Equal(got, paths(files)) {
		t.Errorf("the new repository contains %q", got)
	}
	source := &sourcev1.GitRepository{ObjectMeta: named(fluxNamespace, fluxNamespace)}
	if !c.exists(t, source) || source.Spec.URL != next.url {
		t.Errorf("Flux reads from %q, want %q", source.Spec.URL, next.url)
	}
	next.push(t, "clusters/test/app.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app, namespace: default}\n")
	eventually(t, "Flux applies a push to the new repository", func() bool {
		return c.exists(t, &corev1.ConfigMap{ObjectMeta: named("default", "app")})
	})
	if strings.Contains(old.show(t, "clusters/test/flux-system/gotk-sync.yaml"), next.url) {
		t.Error("the old repository contains the new URL")
	}
}
