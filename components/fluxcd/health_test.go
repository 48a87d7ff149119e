package fluxcd

import (
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestPulumiHealth evaluates the expressions in the same way as kustomize-controller.
func TestPulumiHealth(t *testing.T) {
	condition := func(kind, value string) any { return map[string]any{"type": kind, "status": value} }
	status1 := func(generation int64, conditions ...any) map[string]any {
		return map[string]any{"observedGeneration": generation, "conditions": conditions}
	}
	packed := map[string]any{"url": "http://x"}
	for name, test := range map[string]struct {
		status map[string]any
		want   status.Status
	}{
		"packed by upstream's operator":       {map[string]any{"observedGeneration": int64(2), "artifact": packed}, status.InProgressStatus},
		"packed before a change":              {map[string]any{"observedGeneration": int64(1), "artifact": packed}, status.InProgressStatus},
		"applied":                             {status1(2, condition("Ready", "True")), status.CurrentStatus},
		"being applied":                       {status1(2, condition("Reconciling", "True"), condition("Ready", "False")), status.InProgressStatus},
		"being applied again":                 {status1(2, condition("Reconciling", "True"), condition("Ready", "True")), status.InProgressStatus},
		"applied as it was before a change":   {status1(1, condition("Ready", "True")), status.InProgressStatus},
		"stuck":                               {status1(2, condition("Stalled", "True"), condition("Ready", "False")), status.FailedStatus},
		"not ready for an unknown reason":     {status1(2, condition("Ready", "False")), status.InProgressStatus},
		"seen, with nothing known yet":        {status1(2), status.InProgressStatus},
		"with an operator that only began":    {map[string]any{"lastUpdate": "x"}, status.InProgressStatus},
		"with conditions without generations": {map[string]any{"conditions": []any{condition("Ready", "True")}}, status.InProgressStatus},
		"with an empty status":                {map[string]any{}, status.InProgressStatus},
	} {
		for _, check := range PulumiHealth() {
			evaluator, err := cel.NewStatusEvaluator(&kustomize.HealthCheckExpressions{
				Current: check.Current, InProgress: check.InProgress, Failed: check.Failed,
			})
			if err != nil {
				t.Fatal(err)
			}
			result, err := evaluator.Evaluate(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": check.APIVersion, "kind": check.Kind, "metadata": map[string]any{"generation": int64(2)}, "status": test.status,
			}})
			want := test.want
			if check.Kind == "Program" && name == "packed by upstream's operator" {
				want = status.CurrentStatus
			}
			if err != nil || result.Status != want {
				t.Errorf("a %s %s is %+v (%v), want %s", check.Kind, name, result, err, want)
			}
		}
	}
}
