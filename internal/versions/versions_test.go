package versions

import (
	"context"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/internal/breaking"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/clustertest"
	"github.com/strata-platform/strata/internal/skew"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/operator/config"
	"github.com/strata-platform/strata/test/long"
)

const hash, other = "b713fae5a35041d899b0f64151a151f3df068ad1", "0123456789abcdef0123456789abcdef01234567"

func TestTheTagOfAnImageIsItsVersion(t *testing.T) {
	for image, want := range map[string]string{
		"pulumi/pulumi-kubernetes-operator:v2.9.0":                                      "v2.9.0",
		"pulumi/pulumi-kubernetes-operator:v2.9.0@sha256:" + strings.Repeat("0a", 32):   "v2.9.0",
		"registry.acme.example:5000/strata/operator:v0.2.0":                             "v0.2.0",
		"registry.acme.example:5000/strata/operator":                                    "",
		"registry.acme.example:5000/strata/operator@sha256:" + strings.Repeat("0a", 32): "",
		"operator:v0.2.0":     "v0.2.0",
		"operator":            "",
		"":                    "",
		"127.0.0.1:5000/a:v1": "v1",
	} {
		if got := tag(image); got != want {
			t.Errorf("the tag of %q is %q, want %q", image, got, want)
		}
	}
}

func TestTheStateOfALayerHasItsVersions(t *testing.T) {
	state := apitype.DeploymentV3{
		Manifest: apitype.ManifestV1{Version: "3.258.0"},
		Resources: []apitype.ResourceV3{
			{Type: "pulumi:pulumi:Stack", Outputs: map[string]any{"strataVersion": "v0.2.0", "fluxVersion": "v2.9.4"}},
			{Type: "pulumi:providers:kubernetes", Inputs: map[string]any{"version": "4.24.0"}},
			// A replaced provider that is still to be deleted, and one without a version.
			{Type: "pulumi:providers:kubernetes", Inputs: map[string]any{"version": "4.20.0"}, Delete: true},
			{Type: "pulumi:providers:random", Inputs: map[string]any{}},
			{Type: "kubernetes:core/v1:Namespace", Inputs: map[string]any{"version": "1.0.0"}},
		},
	}
	got := layerOf("platform", state)
	if got.Name != "platform" || got.Pulumi != "v3.258.0" || got.Strata != "v0.2.0" || got.Flux != "v2.9.4" || len(got.Plugins) != 1 || got.Plugins["kubernetes"] != "4.24.0" {
		t.Errorf("the layer is %+v", got)
	}
	if got := layerOf("platform", apitype.DeploymentV3{}); got.Pulumi != "" || got.Strata != "" || got.Flux != "" || len(got.Plugins) > 0 {
		t.Errorf("a layer that never ran is %+v", got)
	}
}

// testCluster is a cluster without controllers: the tests write what these would.
type testCluster struct {
	*clustertest.Cluster
	t      *testing.T
	config *rest.Config
}

func (c testCluster) create(text string) {
	c.t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), object); err != nil {
		c.t.Fatal(err)
	}
	content := object.DeepCopy()
	if err := c.Create(c.t.Context(), object); err != nil {
		c.t.Fatal(err)
	}
	if status, found := content.Object["status"]; found {
		object.Object["status"] = status
		if err := c.Status().Update(c.t.Context(), object); err != nil {
			c.t.Fatal(err)
		}
	}
}

// deployment returns a Deployment of an image.
func deployment(namespace, name, image, labels string) string {
	return `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ` + namespace + `, name: ` + name + `, labels: {` + labels + `}}, spec: {selector: {matchLabels: {app: x}},
template: {metadata: {labels: {app: x}}, spec: {containers: [{name: manager, image: "` + image + `"}]}}}}`
}

// kind returns a definition of the kind Gadget under a plural name.
func kind(plural string) string {
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ` + plural + `.example.com}, spec: {group: example.com, scope: Namespaced,
names: {plural: ` + plural + `, singular: gadget, kind: Gadget, listKind: GadgetList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`
}

// TestTheVersionsOfACluster writes the objects that Flux and layer 3 would, one after the other.
func TestTheVersionsOfACluster(t *testing.T) {
	long.Test(t)
	c := testCluster{Cluster: clustertest.Start(t), t: t}
	var err error
	if c.config, err = clientcmd.RESTConfigFromKubeConfig([]byte(c.Kubeconfig(t, "127.0.0.1"))); err != nil {
		t.Fatal(err)
	}
	embedded := skew.Offered{Strata: "v0.2.0", Operator: skew.Operator{Tag: "v0.2.0"}}
	if embedded.Definitions, err = breaking.Definitions(config.Files, "crd/bases"); err != nil || len(embedded.Definitions) == 0 {
		t.Fatal(embedded.Definitions, err)
	}
	upstream := skew.Offered{Strata: "v0.2.0", Operator: skew.Operator{Tag: "v2.9.0", Commit: hash}}
	read := func(offered skew.Offered) *skew.Cluster {
		t.Helper()
		found, err := Cluster(t.Context(), c.config, offered)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	unestablished := func(want string) {
		t.Helper()
		why := ""
		// The API server establishes a kind a moment after it has accepted it.
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (_ bool, err error) {
			why, err = Unestablished(ctx, c.config)
			return why == want || want != "" && strings.HasPrefix(why, want), err
		})
		if err != nil {
			t.Fatalf("the kinds are not established: %q, want %q: %v", why, want, err)
		}
	}

	empty := read(embedded)
	if !strings.HasPrefix(empty.Kubernetes, "v1.") || len(empty.Controllers) > 0 || empty.Operator != (skew.Operator{}) || len(empty.Kinds) != len(embedded.Definitions) || !empty.Kinds[0].Missing {
		t.Errorf("an empty cluster has %+v", empty)
	}
	if got := read(upstream).Operator; got != (skew.Operator{}) {
		t.Errorf("an empty cluster has upstream's operator %+v", got)
	}
	unestablished("Kustomization platform/operator-crds does not exist")

	for _, namespace := range []string{"flux-system", "platform", "pulumi-kubernetes-operator"} {
		c.create(`{apiVersion: v1, kind: Namespace, metadata: {name: ` + namespace + `}}`)
	}
	c.create(deployment("flux-system", "source-controller", "x", "app.kubernetes.io/part-of: flux, app.kubernetes.io/version: v2.9.4"))
	c.create(deployment("flux-system", "dashboard", "x", "app.kubernetes.io/part-of: dashboards, app.kubernetes.io/version: v7.0.0"))
	c.create(deployment("pulumi-kubernetes-operator", "pulumi-operator", "pulumi/pulumi-kubernetes-operator:v2.9.0@sha256:"+strings.Repeat("0a", 32), ""))
	if got := read(embedded); len(got.Controllers) != 1 || got.Controllers["source-controller"] != "v2.9.4" || got.Operator != (skew.Operator{Tag: "v2.9.0"}) {
		t.Errorf("the versions are %+v", got)
	}

	// The commit of upstream's kinds is that of their source. It is compared with the tag of the operator.
	source := `{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {namespace: platform, name: pulumi-operator}, spec: {url: "https://git.acme.example/operator", interval: 1h, ref: {commit: ` + other + `}}}`
	c.create(source)
	compare := func(want string) {
		t.Helper()
		var texts []string
		for _, each := range skew.Check(skew.Facts{Offered: upstream, Cluster: read(upstream), Call: func(words string) string { return "strata " + words }}) {
			texts = append(texts, each.String())
		}
		if got := strings.Join(texts, "\n"); got != want {
			t.Errorf("the skew is\n%s\nwant\n%s", got, want)
		}
	}
	if got := read(upstream).Operator; got != (skew.Operator{Tag: "v2.9.0", Commit: other}) {
		t.Errorf("upstream's operator is %+v", got)
	}
	compare("operator: v2.9.0 runs with the kinds of commit 01234567, and its release has those of b713fae5: change the tag and the commit together (decision 20)")
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(source), object); err != nil {
		t.Fatal(err)
	}
	if err := c.Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(`{"spec": {"ref": {"commit": "`+hash+`"}}}`))); err != nil {
		t.Fatal(err)
	}
	compare("")
	upstream.Operator.Tag = "v2.10.0"
	compare("operator: v2.9.0 runs with the kinds of v2.10.0: change the tag and the commit together (decision 20)")

	// Of two kinds with the same name, the API server serves the first one only.
	c.create(`{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {namespace: platform, name: operator-crds}, spec: {interval: 1h, prune: true, sourceRef: {kind: GitRepository, name: x}}}`)
	unestablished("Kustomization platform/operator-crds has applied no kinds")
	sync := &unstructured.Unstructured{}
	sync.SetAPIVersion("kustomize.toolkit.fluxcd.io/v1")
	sync.SetKind("Kustomization")
	sync.SetNamespace("platform")
	sync.SetName("operator-crds")
	inventory := []byte(`{"status": {"inventory": {"entries": [{"id": "platform_x__ConfigMap", "v": "v1"}, {"id": "_gizmos.example.com_apiextensions.k8s.io_CustomResourceDefinition", "v": "v1"}]}}}`)
	if err := c.Status().Patch(t.Context(), sync, client.RawPatch("application/merge-patch+json", inventory)); err != nil {
		t.Fatal(err)
	}
	unestablished("CustomResourceDefinition gizmos.example.com does not exist")
	c.create(kind("gadgets"))
	c.create(kind("gizmos"))
	unestablished("CustomResourceDefinition gizmos.example.com is not established: ")
	first := &unstructured.Unstructured{}
	first.SetAPIVersion(apiextensionsv1.SchemeGroupVersion.String())
	first.SetKind("CustomResourceDefinition")
	first.SetName("gadgets.example.com")
	if err := c.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	unestablished("")

	// A doctor compares the versions only if the cluster answers.
	p := &platformOf{offered: upstream}
	if got := SkewOfCluster(t.Context(), lifecycle.New(p)); len(got) > 0 {
		t.Errorf("without a cluster, the skew is %v", got)
	}
	if got := Skew(t.Context(), lifecycle.New(p)); len(got) != 1 || got[0].Part != "layers" {
		t.Errorf("without a cluster, the complete skew is %v", got)
	}
	p.config = c.config
	if got := SkewOfCluster(t.Context(), lifecycle.New(p)); len(got) != 2 || got[0].Part != "layers" || got[1].Part != "operator" {
		t.Errorf("the skew is %v", got)
	}
}

// platformOf is a target whose layers an older Strata has run. Its cluster answers if config is not nil.
type platformOf struct {
	lifecycle.Target
	offered skew.Offered
	config  *rest.Config
}

func (p *platformOf) About() lifecycle.About {
	return lifecycle.About{Call: func(words string) string { return "strata " + words }}
}
func (p *platformOf) Offered(context.Context) (skew.Offered, error) { return p.offered, nil }
func (p *platformOf) Journal() lifecycle.Journal                    { return noJournal{} }
func (p *platformOf) Made(string) bool                              { return true }
func (p *platformOf) State(context.Context, string) (apitype.DeploymentV3, error) {
	return apitype.DeploymentV3{Resources: []apitype.ResourceV3{{Type: "pulumi:pulumi:Stack", Outputs: map[string]any{"strataVersion": "v0.1.0"}}}}, nil
}
func (p *platformOf) Below(context.Context) ([]status.Item, *rest.Config, error) {
	return nil, p.config, nil
}

// noJournal has no record.
type noJournal struct{ lifecycle.Journal }

func (noJournal) UpgradeBegun() (to, step string, begun bool) { return "", "", false }
