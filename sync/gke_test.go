package sync_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/platform"
)

const operatorFolder = "sync/operator/gke"

// isUpstreams reports whether a sync applies upstream's repository.
func isUpstreams(sync kustomizev1.Kustomization) bool {
	return sync.Spec.SourceRef.Name == platform.OperatorSource
}

// find decodes the only object of a kind, strictly.
func find(t *testing.T, all resmap.ResMap, kind string, into any) {
	t.Helper()
	found := 0
	for _, object := range all.Resources() {
		if object.GetKind() != kind {
			continue
		}
		found++
		content, err := object.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(content, into); err != nil {
			t.Fatalf("%s: %v", object.CurId(), err)
		}
	}
	if found != 1 {
		t.Fatalf("there are %d objects of kind %s, want one", found, kind)
	}
}

func TestUpstreamsKindsArePinnedByACommitAndOutliveTheirSync(t *testing.T) {
	var source sourcev1.GitRepository
	find(t, build(t, "sync/clusters/gke"), sourcev1.GitRepositoryKind, &source)
	if source.Namespace != platform.PlatformNamespace || source.Name != platform.OperatorSource {
		t.Errorf("the source is %s/%s, which the platform account may not keep", source.Namespace, source.Name)
	}
	if ref := source.Spec.Reference; ref == nil || !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(ref.Commit) {
		t.Errorf("it is not pinned by a commit: %+v", ref)
	}
	if !strings.HasPrefix(source.Spec.URL, "https://") || source.Spec.SecretRef != nil {
		t.Errorf("it is fetched from %s with the login %v", source.Spec.URL, source.Spec.SecretRef)
	}
	taken := 0
	for _, sync := range syncs(t, "gke") {
		if !isUpstreams(sync) {
			continue
		}
		taken++
		if sync.Spec.SourceRef.Kind != sourcev1.GitRepositoryKind || sync.Spec.SourceRef.Namespace != "" {
			t.Errorf("%s takes %s", sync.Name, sync.Spec.SourceRef.String())
		}
		if folder := strings.TrimPrefix(sync.Spec.Path, "./"); len(source.Spec.SparseCheckout) != 1 || source.Spec.SparseCheckout[0] != folder {
			t.Errorf("%s applies %s, which is not in the checkout of %v", sync.Name, folder, source.Spec.SparseCheckout)
		}
		if sync.Spec.Prune {
			t.Errorf("%s prunes kinds, and every Stack with them", sync.Name)
		}
	}
	if taken != 1 {
		t.Errorf("%d syncs take upstream's repository", taken)
	}
}

func TestUpstreamsImageIsOfTheReleaseOfItsKinds(t *testing.T) {
	entry, err := os.ReadFile(filepath.Join(root, "sync/clusters/gke/operator.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	release := regexp.MustCompile(`(?m)^# .*Kubernetes Operator (v2\.\d+\.\d+)`).FindSubmatch(entry)
	if release == nil {
		t.Fatal("the entry point does not name the release of its commit")
	}
	container := operatorDeployment(t).Spec.Template.Spec.Containers[0]
	pinned := regexp.MustCompile(`^docker\.io/pulumi/pulumi-kubernetes-operator:` + regexp.QuoteMeta(string(release[1])) + `(@sha256:[0-9a-f]{64})?$`)
	if !pinned.MatchString(container.Image) {
		t.Errorf("the image is %s, the kinds are of %s", container.Image, release[1])
	}
	for _, variable := range container.Env {
		if variable.Name == "AGENT_IMAGE" && variable.Value != container.Image {
			t.Errorf("the pods of runs take their agent out of %s, the operator is %s", variable.Value, container.Image)
		}
	}
}

func TestUpstreamsOperatorRunsAsTheAccountThatHasTheRights(t *testing.T) {
	var account corev1.ServiceAccount
	find(t, build(t, operatorFolder), "ServiceAccount", &account)
	deployment := operatorDeployment(t)
	for what, got := range map[string]string{
		"the account":               account.Namespace + "/" + account.Name,
		"the account of the pod":    deployment.Namespace + "/" + deployment.Spec.Template.Spec.ServiceAccountName,
		"what bears the pods' name": deployment.Namespace + "/" + deployment.Name,
	} {
		if want := platform.OperatorNamespace + "/" + platform.OperatorAccount; got != want {
			t.Errorf("%s is %s, want %s", what, got, want)
		}
	}
}

// TestRunsReachUpstreamsProgramServer follows a request: from the address that the operator hands out, to the Service, to
// the port of the pod, which layer 2's NetworkPolicy opens by its name.
func TestRunsReachUpstreamsProgramServer(t *testing.T) {
	var service corev1.Service
	find(t, build(t, operatorFolder), "Service", &service)
	template := operatorDeployment(t).Spec.Template
	if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(template.Labels)) {
		t.Errorf("the Service selects %v, the pod has %v", service.Spec.Selector, template.Labels)
	}
	port := service.Spec.Ports[0]
	want := fmt.Sprintf("--program-fs-adv-addr=%s.$(POD_NAMESPACE):%d", service.Name, port.Port)
	bound := ""
	for _, each := range template.Spec.Containers[0].Ports {
		if each.Name == "http-fileserver" && port.TargetPort.StrVal == each.Name {
			bound = fmt.Sprintf("--program-fs-addr=:%d", each.ContainerPort)
		}
	}
	args := strings.Join(template.Spec.Containers[0].Args, " ")
	if bound == "" || !strings.Contains(args, want) || !strings.Contains(args, bound) {
		t.Errorf("the arguments are %s, want %s and %q", args, want, bound)
	}
}

func operatorDeployment(t *testing.T) appsv1.Deployment {
	t.Helper()
	var deployment appsv1.Deployment
	find(t, build(t, operatorFolder), "Deployment", &deployment)
	return deployment
}

// TestUpstreamsKindSaysWhereValuesComeFrom applies the patches of upstream's CRD to the embedded operator's, which has the
// same fields.
func TestUpstreamsKindSaysWhereValuesComeFrom(t *testing.T) {
	for _, sync := range syncs(t, "gke") {
		if !isUpstreams(sync) {
			continue
		}
		files := filesys.MakeFsInMemory()
		crd, err := os.ReadFile(filepath.Join(root, "operator/config/crd/bases/pulumi.com_stacks.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		patches, err := yaml.Marshal(map[string]any{"resources": []string{"crd.yaml"}, "patches": sync.Spec.Patches})
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string][]byte{"crd.yaml": crd, "kustomization.yaml": patches} {
			if err := files.WriteFile(name, content); err != nil {
				t.Fatal(err)
			}
		}
		patched, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, ".")
		if err != nil {
			t.Fatal(err)
		}
		var kind apiextensionsv1.CustomResourceDefinition
		find(t, patched, "CustomResourceDefinition", &kind)
		spec := kind.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		if len(spec.Required) > 0 {
			t.Errorf("the kind requires %v, and its refusal does not say what the platform fills in", spec.Required)
		}
		for _, field := range []string{"stack", "serviceAccountName", "envRefs", "configRef", "destroyOnFinalize"} {
			if text := spec.Properties[field].Description; !strings.Contains(text, "In a team's namespace") {
				t.Errorf("spec.%s does not say where its value comes from: %s", field, text)
			}
		}
		return
	}
	t.Error("no sync takes upstream's kinds")
}
