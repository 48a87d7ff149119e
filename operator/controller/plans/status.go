package plans

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/operator/controller/report"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/operator/plan"
)

const (
	// mostObject bounds a Plan without its status, and mostTotal one with it, in bytes. etcd takes objects of up to 1.5 MiB.
	mostObject, mostTotal = 1_000_000, 1_100_000

	// longestMessage and longestText bound the texts of a status, in bytes.
	longestMessage, longestText = 2000, 500
)

// levels are the bounds of the steps of a Stack and of the fields of a step, until the status is small enough.
var levels = [][2]int{{100, 20}, {100, 5}, {50, 2}, {20, 0}, {5, 0}, {0, 0}}

// resultOf returns the status of a Plan that is complete.
func resultOf(w *work, failed bool) plan.Status {
	slices.SortFunc(w.planned, func(a, b plan.Stack) int { return strings.Compare(a.Name, b.Name) })
	now := metav1.NewTime(time.Now())
	status := plan.Status{Phase: plan.Ready, Message: clean(w.note, longestMessage), Completed: &now}
	var bad []string
	for _, stack := range w.planned {
		if stack.Failed {
			bad = append(bad, stack.Name)
		}
	}
	if len(bad) > 0 && status.Message == "" {
		status.Message = clean("cannot be planned: Stack "+strings.Join(bad, ", "), longestMessage)
	}
	for _, level := range levels {
		if status.Stacks = bounded(w.planned, level[0], level[1]); w.size+sizeOf(status.Stacks) <= mostTotal {
			break
		}
	}
	if losses(status.Stacks) < losses(w.planned) || w.hides {
		failed, status.Message = true, "the plan is too large to show every step that loses data: divide the commit"
	}
	if failed || w.refused || len(bad) > 0 {
		status.Phase = plan.Failed
		return status
	}
	status.Digest = digest(status.Stacks)
	return status
}

// losses counts the steps that lose data.
func losses(stacks []plan.Stack) (n int) {
	for _, stack := range stacks {
		for _, step := range stack.Steps {
			if step.LosesData {
				n++
			}
		}
	}
	return n
}

// digest returns the digest of the plans of Stacks. Their JSON is canonical: the fields have an order, and encoding/json sorts maps.
func digest(stacks []plan.Stack) string {
	content, _ := json.Marshal(stacks) // It has texts and numbers only.
	return fmt.Sprintf("sha256:%x", sha256.Sum256(content))
}

// sizeOf returns the size of a value as JSON.
func sizeOf(value any) int {
	content, _ := json.Marshal(value)
	return len(content)
}

// bounded returns plans with at most so many steps for each Stack and fields for each step.
func bounded(stacks []plan.Stack, steps, fields int) []plan.Stack {
	less := slices.Clone(stacks)
	for i := range less {
		kept := min(len(less[i].Steps), steps)
		less[i].More += len(less[i].Steps) - kept
		less[i].Steps = slices.Clone(less[i].Steps[:kept])
		for j := range less[i].Steps {
			step := &less[i].Steps[j]
			some := min(len(step.Fields), fields)
			step.More += len(step.Fields) - some
			step.Fields = step.Fields[:some]
		}
	}
	return less
}

// planned returns the plan of a target after its preview: first the steps that lose data, then the other deletions and replacements.
func planned(t *target, result *engine.Result) plan.Stack {
	p := plan.Stack{
		Name: t.stack.Name, Removed: t.removed, State: result.Plan.State, Changes: result.Plan.Changes, More: result.Plan.More, Uncompared: result.Plan.Uncompared,
	}
	steps := slices.Clone(result.Plan.Steps)
	slices.SortStableFunc(steps, func(a, b events.PlannedStep) int { return cmp.Compare(rank(a), rank(b)) })
	kept := min(len(steps), levels[0][0])
	p.More += len(steps) - kept
	for _, each := range steps[:kept] {
		p.Steps = append(p.Steps, stepOf(each))
	}
	t.hides = kept < len(steps) && rank(steps[kept]) == 0
	return p
}

// rank orders the steps of a Stack.
func rank(s events.PlannedStep) int {
	switch {
	case plan.LosesData(s.Op, s.Type):
		return 0
	case s.Op == "delete":
		return 1
	case s.Op == "replace":
		return 2
	}
	return 3
}

func stepOf(from events.PlannedStep) plan.Step {
	kept := min(len(from.Fields), levels[0][1])
	step := plan.Step{
		Op: clean(from.Op, 60), Name: clean(from.Name, longestText), Type: clean(from.Type, longestText),
		LosesData: plan.LosesData(from.Op, from.Type), More: from.More + len(from.Fields) - kept,
	}
	for _, f := range from.Fields[:kept] {
		step.Fields = append(step.Fields, plan.Field{
			Path: clean(f.Path, longestText), Before: clean(f.Before, longestText), After: clean(f.After, longestText), Replaces: f.Replaces,
		})
	}
	return step
}

// clean returns a text in one line that a terminal may show: characters that control a terminal or the direction of the text become their
// escapes, as in \u001b. The result has at most longest bytes and an ellipsis.
func clean(text string, longest int) string {
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

// write replaces the status of a Plan. The Plan may be gone.
func (r *reconciler) write(ctx context.Context, w *work, status plan.Status) error {
	fields := map[string]any{"message": nil, "completed": nil, "digest": nil, "stacks": nil}
	content, err := json.Marshal(status)
	if err == nil {
		err = json.Unmarshal(content, &fields)
	}
	if err != nil {
		return fmt.Errorf("write the status of the Plan: %w", err)
	}
	// Of a Plan of the same name that is another one, the API server refuses the change.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": w.uid}, "status": fields})
	if err != nil {
		return fmt.Errorf("write the status of the Plan: %w", err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(plan.Resource().GroupVersion().WithKind(plan.Kind))
	object.SetNamespace(w.key.Namespace)
	object.SetName(w.key.Name)
	err = r.Client.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write the status of the Plan: %w", err)
	}
	return nil
}
