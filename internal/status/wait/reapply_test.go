package wait

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/snapshot"
)

func TestAnIncompleteKustomizationIsRequestedOnce(t *testing.T) {
	report := status.Report{Incomplete: []types.NamespacedName{{Namespace: "team-web", Name: "web"}}}
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": map[string]any{"namespace": "team-web", "name": "web"},
	}})
	var applier reapplier
	for range 2 {
		if err := applier.requestBy(t.Context(), client, report); err != nil {
			t.Fatal(err)
		}
	}
	patches := slices.DeleteFunc(client.Actions(), func(a clienttesting.Action) bool { return a.GetVerb() != "patch" })
	if len(patches) != 1 {
		t.Fatalf("there are %d requests", len(patches))
	}
	requested, err := client.Resource(patches[0].GetResource()).Namespace("team-web").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if requested.GetAnnotations()[snapshot.AnnotationRequestedAt] == "" {
		t.Error("the Kustomization has no annotation")
	}
}
