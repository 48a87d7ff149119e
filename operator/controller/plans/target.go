package plans

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/planned"
	"github.com/strata-platform/strata/operator/plan"
)

// target is a Stack that the commit changes or deletes.
type target struct {
	// stack is the Stack as the API server would store it. live is the Stack of today, or nil.
	stack, live *v1.Stack

	// program is the Stack's Program. A Stack that the commit deletes has none.
	program *v1.Program

	// removed says that the commit deletes the Stack.
	removed bool

	// failure says why the Stack cannot be planned, and message why there is nothing to plan.
	failure, message string

	// content is the digest of what the preview runs.
	content string

	// hides says that the target has more steps that lose data than a status holds.
	hides bool
}

// result returns the plan of a target without a preview.
func (t *target) result() plan.Stack {
	made := plan.Stack{Name: t.stack.Name, Removed: t.removed, Message: planned.Clean(t.message, planned.LongestMessage)}
	if t.failure != "" {
		made.Failed, made.Message = true, planned.Clean(t.failure, planned.LongestMessage)
	}
	return made
}

// target returns a Stack of the commit, or nil if the commit does not change it.
func (a *admission) target(ctx context.Context, w *work, name string) (*target, error) {
	t := &target{stack: &v1.Stack{}, live: a.live[name]}
	t.stack.Namespace, t.stack.Name = a.plan.Namespace, name
	if refusal := a.refused[stackKind][name]; refusal != "" {
		t.failure = "the API server would refuse " + refusal
		return t, nil
	}
	if err := decode(a.commit.objects[stackKind][name], t.stack); err != nil {
		return nil, err
	}
	changed := a.changed[stackKind][name]
	if t.stack.Spec.ProgramRef == nil {
		t.failure = "only Stacks with spec.programRef can be planned: the program of this Stack comes from a repository or an artifact"
		return onlyIf(changed, t), nil
	}
	program := t.stack.Spec.ProgramRef.Name
	failure, err := a.program(ctx, t, program)
	if err != nil {
		return nil, err
	}
	if failure != "" {
		t.failure = failure
		return onlyIf(changed || a.refused[programKind][program] != "" || t.program == nil, t), nil
	}
	if changed = changed || a.changed[programKind][program]; len(a.changed[configMapKind])+len(a.refused[configMapKind]) > 0 {
		// Which ConfigMaps a Stack reads shows when its references are resolved. The preview reports errors.
		w.configMaps = a.commit.objects[configMapKind]
		_, err := a.inputs(ctx, w, t, func(on dependents.Object) {
			if on.Resource != dependents.ConfigMaps {
				return
			}
			changed = changed || a.changed[configMapKind][on.Name]
			if refusal := a.refused[configMapKind][on.Name]; refusal != "" {
				changed, t.failure = true, "the API server would refuse "+refusal
			}
		})
		if unavailable(err) {
			return nil, err
		}
	}
	return onlyIf(changed, t), nil
}

func onlyIf(changed bool, t *target) *target {
	if !changed {
		return nil
	}
	return t
}

// program finds the Program of a target: that of the commit, or else one that exists and that Flux does not delete. It returns why there
// is none.
func (a *admission) program(ctx context.Context, t *target, name string) (failure string, err error) {
	if refusal := a.refused[programKind][name]; refusal != "" {
		return "the API server would refuse " + refusal, nil
	}
	found := &v1.Program{}
	if object := a.commit.objects[programKind][name]; object != nil {
		t.program = found
		return "", decode(object, found)
	}
	err = a.Client.Get(ctx, client.ObjectKey{Namespace: a.plan.Namespace, Name: name}, found)
	if apierrors.IsNotFound(err) {
		return fmt.Sprintf("spec.programRef: there is no Program %s, neither in the commit nor in the cluster", name), nil
	} else if err != nil {
		return "", fmt.Errorf("read Program %s: %w", name, err)
	}
	if sync := a.plan.Spec.Sync; sync != "" && found.Labels[syncLabel] == sync && found.Annotations[pruneAnnotation] != "disabled" {
		return fmt.Sprintf("spec.programRef: the commit deletes Program %s", name), nil
	}
	t.program = found
	return "", nil
}
