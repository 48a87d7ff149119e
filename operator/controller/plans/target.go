package plans

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/planned"
	"github.com/strata-platform/strata/operator/controller/plans/commit"
	"github.com/strata-platform/strata/operator/controller/plans/repository"
	"github.com/strata-platform/strata/operator/plan"
)

// target is a Stack that the commit changes or deletes.
type target struct {
	// stack is the Stack as the API server would store it. live is the Stack of today, or nil.
	stack, live *v1.Stack

	// program is the Stack's Program. A Stack that the commit deletes has none, and one whose program comes from elsewhere.
	program *v1.Program

	// own is the repository of the commit if the Stack's program is one of its folders. unchanged says that the commit can change this
	// folder only.
	own       *repository.Own
	unchanged bool

	// removed says that the commit deletes the Stack.
	removed bool

	// failure says why the Stack cannot be planned, and message why there is nothing to plan. unseen says that the commit may change the
	// Stack's resources all the same.
	failure, message string
	unseen           bool

	// content is the digest of what the preview runs.
	content string

	// hides says that the target has more steps that lose data than a status holds.
	hides bool
}

// result returns the plan of a target without a preview.
func (t *target) result() plan.Stack {
	made := plan.Stack{Name: t.stack.Name, Removed: t.removed, Unseen: t.unseen, Message: planned.Clean(t.message, planned.LongestMessage)}
	if t.failure != "" {
		made.Failed, made.Message = true, planned.Clean(t.failure, planned.LongestMessage)
	}
	return made
}

// target returns a Stack of the commit, or nil if the commit does not change it.
func (a *admission) target(ctx context.Context, w *work, name string) (*target, error) {
	t := &target{stack: &v1.Stack{}, live: a.live[name]}
	t.stack.Namespace, t.stack.Name = a.plan.Namespace, name
	if refusal := a.refused[commit.StackKind][name]; refusal != "" {
		t.failure = "the API server would refuse " + refusal
		return t, nil
	}
	if err := decode(a.commit.Objects[commit.StackKind][name], t.stack); err != nil {
		return nil, err
	}
	changed := a.changed[commit.StackKind][name]
	if t.stack.Spec.ProgramRef == nil {
		from := repository.Commit{Namespace: a.plan.Namespace, Team: a.team, Hash: a.plan.Spec.Commit}
		var err error
		if t.own, err = a.Repositories.Own(ctx, from, &t.stack.Spec); err != nil {
			return nil, err
		}
		if t.own == nil && a.follows(&t.stack.Spec) && (!changed || repository.OfTeam(&t.stack.Spec, a.team)) {
			t.hide("")
			return t, nil
		}
	} else {
		program := t.stack.Spec.ProgramRef.Name
		failure, err := a.program(ctx, t, program)
		if err != nil {
			return nil, err
		}
		if failure != "" {
			t.failure = failure
			return onlyIf(changed || a.refused[commit.ProgramKind][program] != "" || t.program == nil, t), nil
		}
		changed = changed || a.changed[commit.ProgramKind][program]
	}
	if len(a.changed[commit.ConfigMapKind])+len(a.refused[commit.ConfigMapKind]) > 0 {
		// Which ConfigMaps a Stack reads shows when its references are resolved. The preview reports errors.
		w.configMaps = a.commit.Objects[commit.ConfigMapKind]
		_, err := a.inputs(ctx, w, t, func(on dependents.Object) {
			if on.Resource != dependents.ConfigMaps {
				return
			}
			changed = changed || a.changed[commit.ConfigMapKind][on.Name]
			if refusal := a.refused[commit.ConfigMapKind][on.Name]; refusal != "" {
				changed, t.failure = true, "the API server would refuse "+refusal
			}
		})
		if unavailable(err) {
			return nil, err
		}
	}
	t.unchanged = !changed
	return onlyIf(changed || t.own != nil, t), nil
}

// turn orders the targets: those that the commit changes for sure come first.
func (t *target) turn() int {
	if t.unchanged {
		return 1
	}
	return 0
}

// fail says why the target cannot be planned. If the commit may not even change it, that fails no Plan.
func (t *target) fail(why string) {
	if t.own != nil && t.unchanged {
		t.hide(": " + why)
	} else {
		t.failure = why
	}
}

// hide says that the plan does not know what the commit does to the resources of the target, and why.
func (t *target) hide(why string) {
	t.message, t.unseen = "its program comes from a repository, so the plan does not know what the commit does to its resources"+why, true
}

// follows reports whether a commit may change the program of a Stack without a change of the Stack: the program is a folder of the team's
// own repository, or that of a branch.
func (a *admission) follows(spec *v1.StackSpec) bool {
	if spec.FluxSource != nil {
		return repository.OfTeam(spec, a.team)
	}
	return spec.Branch != ""
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
	if refusal := a.refused[commit.ProgramKind][name]; refusal != "" {
		return "the API server would refuse " + refusal, nil
	}
	found := &v1.Program{}
	if object := a.commit.Objects[commit.ProgramKind][name]; object != nil {
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
