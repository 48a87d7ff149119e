package plans

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/operator/plan"
)

// mostTries bounds how often a step of a Plan is tried that fails without an answer of the API server.
const mostTries = 5

// work is the work on one Plan.
type work struct {
	key types.NamespacedName
	uid types.UID

	// size is the size of the Plan without its status, in bytes.
	size int

	// begun says that the targets are known.
	begun bool

	// targets are the Stacks that are left to plan, and planned those that are planned. note is the message of the Plan.
	targets []*target
	planned []plan.Stack
	note    string

	// refused says that the API server would refuse an object of the commit.
	refused bool

	// hides says that a Stack has more steps that lose data than a status holds.
	hides bool

	// configMaps are the ConfigMaps of the commit, by their names.
	configMaps map[string]*unstructured.Unstructured

	// ran is how long the previews have run, and tries how often the present step has failed.
	ran   time.Duration
	tries int

	// waits says that the status says that the Plan waits for a slot.
	waits bool
}

// Causes of the end of a preview.
var (
	errGaveWay  = errors.New("the preview gave way to a run")
	errObsolete = errors.New("the Plan is gone, or a newer one has replaced it")
	errTooLong  = errors.New("the preview took too long")
)

// reconcile takes one step of a Plan. It returns when to take the next one; zero means never.
func (r *reconciler) reconcile(ctx context.Context, of types.NamespacedName) (time.Duration, error) {
	if plan.IsOfStack(of.Name) {
		return 0, r.sweep(ctx, of)
	}
	e, newer, found := r.known.get(of)
	if !found {
		r.release(of)
		return 0, nil
	}
	if newer >= Kept {
		r.release(of)
		return 0, r.delete(ctx, of, e.uid)
	}
	if e.done {
		return 0, nil
	}
	var p *plan.Plan
	if !e.read {
		var err error
		if p, err = r.read(ctx, of, e.uid); p == nil || err != nil {
			return 0, err
		}
		complete := p.Status.Phase == plan.Ready || p.Status.Phase == plan.Failed
		r.known.change(of, e.uid, func(e *entry) { e.branch, e.read, e.done = lineOf(&p.Spec), true, complete })
		r.known.stopOlder(of)
		if complete {
			r.tell(ctx, of) // An operator before this one may have completed the Plan without telling.
			return 0, nil
		}
	}
	if by := r.known.successor(of); by != "" {
		return 0, r.finish(ctx, &work{key: of, uid: e.uid, note: "Plan " + by + " of a later commit of the branch has replaced this one"}, true)
	}
	w := r.claim(of, e.uid)
	if w == nil {
		return retry, nil
	}
	wait, err := r.step(ctx, w, p)
	if err == nil {
		w.tries = 0
		return wait, nil
	}
	if w.tries++; w.tries < mostTries || ctx.Err() != nil {
		return 0, err
	}
	w.note = "the operator could not plan the commit: " + err.Error()
	return 0, r.finish(ctx, w, true)
}

// step begins the work on a Plan, or plans the next Stack. p may be nil.
func (r *reconciler) step(ctx context.Context, w *work, p *plan.Plan) (time.Duration, error) {
	if !w.begun {
		if p == nil {
			var err error
			if p, err = r.read(ctx, w.key, w.uid); p == nil || err != nil {
				return 0, err
			}
		}
		failure, err := r.begin(ctx, w, p)
		if err != nil {
			return 0, err
		}
		if failure != "" {
			w.note = failure
			return 0, r.finish(ctx, w, true)
		}
		w.begun = true
	}
	if len(w.targets) == 0 {
		return 0, r.finish(ctx, w, false)
	}
	return r.next(ctx, w)
}

// read reads a Plan. It returns nil if the Plan is gone.
func (r *reconciler) read(ctx context.Context, of types.NamespacedName, uid types.UID) (*plan.Plan, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(plan.Resource().GroupVersion().WithKind(plan.Kind))
	if err := r.Client.Get(ctx, of, object); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read the Plan: %w", err)
	}
	if object.GetUID() != uid {
		return nil, nil
	}
	return plan.From(object)
}

// delete deletes a Plan.
func (r *reconciler) delete(ctx context.Context, of types.NamespacedName, uid types.UID) error {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name}}
	object.SetGroupVersionKind(plan.Resource().GroupVersion().WithKind(plan.Kind))
	err := r.Client.Delete(ctx, object, client.Preconditions{UID: &uid})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete a Plan that the namespace does not keep: %w", err)
	}
	return nil
}

// finish writes the result of a Plan, and ends the work on it.
func (r *reconciler) finish(ctx context.Context, w *work, failed bool) error {
	if err := r.write(ctx, w, resultOf(w, failed)); err != nil {
		return err
	}
	r.known.change(w.key, w.uid, func(e *entry) { e.done = true })
	r.release(w.key)
	r.tell(ctx, w.key)
	return nil
}

// tell sends the result of a complete Plan to Flux, unless a Plan of a later commit has replaced it.
func (r *reconciler) tell(ctx context.Context, of types.NamespacedName) {
	if r.known.successor(of) == "" {
		r.notices.Tell(ctx, of)
	}
}

// next plans the next Stack of a Plan, if a slot is free.
func (r *reconciler) next(ctx context.Context, w *work) (time.Duration, error) {
	now, t := time.Now(), w.targets[0]
	if t.failure != "" || t.message != "" {
		w.done(t.result())
		return again, nil
	}
	if w.ran >= planLimit {
		t.fail(fmt.Sprintf("the previews of the other Stacks took %s: divide the commit", planLimit))
		w.done(t.result())
		return again, nil
	}
	if !r.turns.May(w.key.Namespace, now) {
		return retry, r.wait(ctx, w)
	}
	stoppable, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	limited, cancel := context.WithTimeoutCause(stoppable, runLimit, errTooLong)
	defer cancel()
	// No Stack has this name.
	slot := types.NamespacedName{Namespace: w.key.Namespace, Name: "plan/" + w.key.Name}
	if !r.Slots.TakeSpare(slot, func() { stop(errGaveWay) }) {
		r.turns.Missed(w.key.Namespace, now)
		return retry, r.wait(ctx, w)
	}
	defer r.Slots.Leave(slot)
	r.turns.Took(w.key.Namespace, now)
	r.known.change(w.key, w.uid, func(e *entry) { e.stop = func() { stop(errObsolete) } })
	defer r.known.change(w.key, w.uid, func(e *entry) { e.stop = nil })
	if _, _, found := r.known.get(w.key); !found || r.known.successor(w.key) != "" {
		return again, nil
	}
	made, err := r.preview(limited, w, t)
	w.ran += time.Since(now)
	if cause := context.Cause(limited); err != nil && cause != nil && ctx.Err() == nil {
		switch {
		case errors.Is(cause, errGaveWay):
			return retry, nil
		case errors.Is(cause, errObsolete):
			return again, nil
		}
		t.fail(fmt.Sprintf("the preview took longer than %s", runLimit))
		made, err = t.result(), nil
	}
	if err != nil {
		return 0, err
	}
	w.done(made)
	return again, nil
}

// done records the plan of the first target.
func (w *work) done(made plan.Stack) {
	w.planned, w.hides = append(w.planned, made), w.hides || w.targets[0].hides
	w.targets = w.targets[1:]
}

// wait says in the status, once, that a Plan waits for a slot.
func (r *reconciler) wait(ctx context.Context, w *work) error {
	if w.waits {
		return nil
	}
	w.waits = true
	return r.write(ctx, w, plan.Status{Phase: plan.Running, Message: "it waits until runs of Stacks and other Plans end"})
}
