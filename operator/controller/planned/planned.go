// Package planned makes the status of a Plan out of previews, and writes it.
package planned

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/operator/controller/report"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/operator/plan"
)

const (
	// LongestMessage and longestText bound the texts of a status, in bytes.
	LongestMessage, longestText = 2000, 500

	// mostSteps and mostFields bound the steps of a Stack and the fields of a step.
	mostSteps, mostFields = 100, 20
)

// Stack returns the plan of a Stack after its preview, with its steps in the order of [plan.CompareSteps]. The order does not depend on
// that of the preview. hides says that the Stack has more steps that lose data than a status holds.
func Stack(name string, result *events.Plan) (of plan.Stack, hides bool) {
	steps := Steps(result)
	kept := min(len(steps), mostSteps)
	hides = kept < len(steps) && steps[kept].LosesData
	of = plan.Stack{
		Name: name, State: result.State, Changes: result.Changes, Uncompared: result.Uncompared,
		Steps: steps[:kept:kept], More: result.More + len(steps) - kept,
	}
	return of, hides
}

// Steps returns all steps of a preview in the order of [Stack].
func Steps(result *events.Plan) []plan.Step {
	var steps []plan.Step
	for _, each := range result.Steps {
		steps = append(steps, stepOf(each))
	}
	slices.SortStableFunc(steps, plan.CompareSteps)
	return steps
}

func stepOf(from events.PlannedStep) plan.Step {
	kept := min(len(from.Fields), mostFields)
	step := plan.Step{
		Op: Clean(from.Op, 60), Name: Clean(from.Name, longestText), Type: Clean(from.Type, longestText),
		LosesData: plan.LosesData(from.Op, from.Type), More: from.More + len(from.Fields) - kept,
	}
	for _, f := range from.Fields[:kept] {
		step.Fields = append(step.Fields, plan.Field{
			Path: Clean(f.Path, longestText), Before: Clean(f.Before, longestText), After: Clean(f.After, longestText), Replaces: f.Replaces,
		})
	}
	return step
}

// Clean returns a text in one line that a terminal may show: characters that control a terminal or the direction of the text become their
// escapes, as in \u001b. The result has at most longest bytes and an ellipsis.
func Clean(text string, longest int) string {
	var out strings.Builder
	for _, c := range strings.ToValidUTF8(report.Cut(text, longest), "\uFFFD") {
		if strconv.IsPrint(c) {
			out.WriteRune(c)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(c)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	return report.Cut(out.String(), longest)
}

// Write replaces the status of the Plan with this UID. The Plan may be gone.
func Write(ctx context.Context, c client.Client, key types.NamespacedName, uid types.UID, status plan.Status) error {
	fields := map[string]any{"message": nil, "completed": nil, "digest": nil, "stacks": nil}
	content, err := json.Marshal(status)
	if err == nil {
		err = json.Unmarshal(content, &fields)
	}
	if err != nil {
		return fmt.Errorf("write the status of the Plan: %w", err)
	}
	return write(ctx, c, key, uid, fields)
}

// WriteReported records in the status of the Plan with this UID that Flux has its result. The Plan may be gone.
func WriteReported(ctx context.Context, c client.Client, key types.NamespacedName, uid types.UID) error {
	return write(ctx, c, key, uid, map[string]any{"reported": metav1.Now()})
}

// write changes fields of the status of the Plan with this UID.
func write(ctx context.Context, c client.Client, key types.NamespacedName, uid types.UID, fields map[string]any) error {
	// Of a Plan of the same name that is another one, the API server refuses the change.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "status": fields})
	if err != nil {
		return fmt.Errorf("write the status of the Plan: %w", err)
	}
	err = c.Status().Patch(ctx, Object(key), client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write the status of the Plan: %w", err)
	}
	return nil
}

// Object returns an empty Plan with this namespace and name.
func Object(key types.NamespacedName) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(plan.Resource().GroupVersion().WithKind(plan.Kind))
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	return object
}
