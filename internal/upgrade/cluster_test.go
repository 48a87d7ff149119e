package upgrade

import (
	"io"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/breaking"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/clustertest"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/skew"
	"github.com/strata-platform/strata/operator/config"
	"github.com/strata-platform/strata/test/long"
)

// TestAStepEndsWhenTheClusterHasItsVersions runs the steps after layer 2 against an API server. The test writes what Flux would.
func TestAStepEndsWhenTheClusterHasItsVersions(t *testing.T) {
	long.Test(t)
	cluster, target := clustertest.Start(t), newTarget()
	var err error
	if target.config, err = clientcmd.RESTConfigFromKubeConfig([]byte(cluster.Kubeconfig(t, "127.0.0.1"))); err != nil {
		t.Fatal(err)
	}
	apply := func(text string) {
		t.Helper()
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), object); err != nil {
			t.Fatal(err)
		}
		state, hasState := object.Object["status"]
		delete(object.Object, "status")
		found := object.DeepCopy()
		err := cluster.Get(t.Context(), client.ObjectKeyFromObject(object), found)
		switch {
		case apierrors.IsNotFound(err):
			err = cluster.Create(t.Context(), object)
		case err == nil:
			object.SetResourceVersion(found.GetResourceVersion())
			err = cluster.Update(t.Context(), object)
		}
		if err == nil && hasState {
			object.Object["status"] = state
			err = cluster.Status().Update(t.Context(), object)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// text returns a definition without its status, which the API server sets.
	text := func(definition *apiextensionsv1.CustomResourceDefinition) string {
		t.Helper()
		content, err := yaml.Marshal(definition)
		if err != nil {
			t.Fatal(err)
		}
		without, _, _ := strings.Cut(string(content), "\nstatus:")
		return without
	}
	deployment := func(namespace, name, image, version string) {
		t.Helper()
		apply(`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ` + namespace + `, name: ` + name + `, labels: {app.kubernetes.io/part-of: flux, app.kubernetes.io/version: ` + version + `}},
spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: manager, image: "` + image + `"}]}}}}`)
	}
	for _, namespace := range []string{"flux-system", "platform", "pulumi-kubernetes-operator"} {
		apply(`{apiVersion: v1, kind: Namespace, metadata: {name: ` + namespace + `}}`)
	}
	target.limit = 2 * time.Second
	run := upgrade{Platform: lifecycle.New(target), show: progress.New(io.Discard)}
	run.facts.Offered = skew.Offered{Strata: thisStrata, Flux: "v2.9.4", Operator: skew.Operator{Tag: thisStrata}}
	if run.facts.Offered.Definitions, err = breaking.Definitions(config.Files, "crd/bases"); err != nil {
		t.Fatal(err)
	}
	check := func(result string, err error, want, fails string) {
		t.Helper()
		if fails == "" && (err != nil || result != want) || fails != "" && (err == nil || !strings.HasPrefix(err.Error(), fails)) {
			t.Errorf("the step ends with %q, %v; want %q, %q", result, err, want, fails)
		}
	}

	deployment("flux-system", "helm-controller", "x", "v2.9.3")
	result, err := run.flux(t.Context())
	check(result, err, "", "Deployment flux-system/helm-controller belongs to Flux v2.9.3, and layer 2 has installed v2.9.4: run `strata layer up platform`")
	deployment("flux-system", "helm-controller", "x", "v2.9.4")
	result, err = run.flux(t.Context())
	check(result, err, "v2.9.4, healthy", "")

	sync := `{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {namespace: platform, name: operator-crds},
spec: {interval: 1h, prune: true, sourceRef: {kind: GitRepository, name: x}}, status: {inventory: {entries: [{id: _stacks.pulumi.com_apiextensions.k8s.io_CustomResourceDefinition, v: v1}]}}}`
	result, err = run.kinds(t.Context(), nil)
	check(result, err, "", "the kinds of the operator are not ready after 2s: Kustomization platform/operator-crds does not exist (all causes: `strata status`)")
	apply(sync)
	result, err = run.kinds(t.Context(), nil)
	check(result, err, "", "the kinds of the operator are not ready after 2s: CustomResourceDefinition stacks.pulumi.com does not exist")
	for i, definition := range run.facts.Offered.Definitions {
		content := text(definition)
		if i == 0 {
			// One kind has the schema of an older version.
			content = strings.Replace(content, "description: ", "description: Older. ", 1)
		}
		apply(content)
	}
	target.limit = 30 * time.Second
	stale := run.facts.Offered.Definitions[0]
	result, err = run.kinds(t.Context(), nil)
	check(result, err, "", "Flux does not apply the versions of this strata: kind "+stale.Name+" another schema -> the schema of "+thisStrata+": push this version of sync/ to the platform's repository")
	apply(text(stale))
	result, err = run.kinds(t.Context(), nil)
	check(result, err, "established", "")

	deployment("pulumi-kubernetes-operator", "pulumi-operator", "operator:v0.0.9", "x")
	result, err = run.operator(t.Context(), nil)
	check(result, err, "", "Flux does not apply the versions of this strata: operator v0.0.9 -> "+thisStrata)
	deployment("pulumi-kubernetes-operator", "pulumi-operator", "operator:"+thisStrata, "x")
	result, err = run.operator(t.Context(), nil)
	check(result, err, "everything of the platform is ready", "")
	if target.step != operatorStep {
		t.Errorf("the record is %q", target.step)
	}
}
