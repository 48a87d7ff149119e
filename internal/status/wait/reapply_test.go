package wait

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/snapshot"
)

func TestAReapplierRequests(t *testing.T) {
	web := []types.NamespacedName{{Namespace: "team-web", Name: "web"}}
	for name, tc := range map[string]struct {
		report status.Report
		// after are the times of the looks, and want is the number of requests.
		after []time.Duration
		want  int
	}{
		"a Kustomization with missing objects once":              {status.Report{Incomplete: web}, []time.Duration{0, time.Hour}, 1},
		"a Kustomization that was too early again after a while": {status.Report{Early: web}, []time.Duration{0, earlyInterval, 2 * earlyInterval}, 3},
		"no Kustomization more often than that":                  {status.Report{Early: web}, []time.Duration{0, earlyInterval / 2}, 1},
		"no Kustomization twice at a time":                       {status.Report{Early: web, Incomplete: web}, []time.Duration{0}, 1},
		"nothing of a report without them":                       {status.Report{}, []time.Duration{0}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": map[string]any{"namespace": "team-web", "name": "web"},
			}})
			now := time.Now()
			applier := reapplier{now: func() time.Time { return now }}
			begin := now
			for _, after := range tc.after {
				now = begin.Add(after)
				if err := applier.requestBy(t.Context(), client, applier.due(tc.report)); err != nil {
					t.Fatal(err)
				}
			}
			patches := slices.DeleteFunc(client.Actions(), func(a clienttesting.Action) bool { return a.GetVerb() != "patch" })
			if len(patches) != tc.want {
				t.Fatalf("there are %d requests, want %d", len(patches), tc.want)
			}
			requested, err := client.Resource(kustomizations).Namespace("team-web").Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := requested.GetAnnotations()[snapshot.AnnotationRequestedAt]; (got != "") != (tc.want > 0) {
				t.Errorf("the annotation is %q", got)
			}
		})
	}
}
