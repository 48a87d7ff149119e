package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/engine"
)

// stackReconciler keeps Stacks applied. A worker runs the update itself: the work
// queue then sees to it that a Stack is never run twice at once.
type stackReconciler struct {
	client client.Client

	// reader reads past the cache: a run costs far more than a request, and must
	// not be started upon what was true a moment ago.
	reader client.Reader

	config   *rest.Config
	recorder events.EventRecorder
	engine   *engine.Engine

	// backends is the root of file backends, empty where there are none.
	backends string

	// unconfined is why runs are not confined, nil where they are.
	unconfined error
}

// session is one reconciliation of one Stack.
type session struct {
	*stackReconciler

	stack *v1.Stack

	// saved is the Stack as the API server last had it.
	saved *v1.Stack

	// interrupted says that an earlier update of this Stack began and did not end.
	interrupted bool
}

// Reconcile implements reconcile.Reconciler.
func (r *stackReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	stack := &v1.Stack{}
	if err := r.reader.Get(ctx, req.NamespacedName, stack); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	deleted := !stack.DeletionTimestamp.IsZero()
	if deleted && !controllerutil.ContainsFinalizer(stack, v1.StackFinalizer) {
		return reconcile.Result{}, nil
	}
	s := &session{
		stackReconciler: r, stack: stack, saved: stack.DeepCopy(),
		interrupted: stack.Status.CurrentUpdate != nil,
	}
	if !deleted && controllerutil.AddFinalizer(stack, v1.StackFinalizer) {
		if err := s.patch(ctx); err != nil {
			return reconcile.Result{}, fmt.Errorf("add finalizer to Stack %s: %w", req, err)
		}
	}
	unseen := stack.Status.ObservedGeneration != stack.Generation
	stack.Status.ObservedGeneration = stack.Generation
	stack.Status.ObservedReconcileRequest = stack.Annotations[v1.ReconcileRequestAnnotation]

	step := s.apply
	if deleted {
		step = s.finalize
	} else if fields := notApplied(&stack.Spec); unseen && len(fields) > 0 {
		s.event(corev1.EventTypeWarning, v1.StackFieldsNotAppliedEvent, strings.Join(fields, ", ")+": has no effect under this operator")
	}
	wait, err := step(ctx)
	wait, err = s.settle(wait, err)
	if saveErr := s.save(ctx); saveErr != nil {
		return reconcile.Result{}, errors.Join(err, saveErr)
	}
	return reconcile.Result{RequeueAfter: wait}, err
}

// apply runs the Stack's program if that is due.
func (s *session) apply(ctx context.Context) (time.Duration, error) {
	if err := validate(&s.stack.Spec); err != nil {
		return 0, err
	}
	content, revision, err := s.program(ctx)
	if err != nil {
		return 0, err
	}
	cause, wait := due(s.stack, revision, time.Now())
	if cause == "" {
		s.conclude()
		return wait, nil
	}
	operation := engine.Up
	if s.stack.Spec.Preview {
		operation = engine.Preview
	}
	return s.run(ctx, cause, revision, engine.Request{
		Operation: operation,
		Project:   s.stack.Spec.ProgramRef.Name,
		Program:   content,
	})
}

// finalize does what deletion asks for and then lets the Stack go. It needs the
// program only when the spec says so: what to destroy is in the stack's state.
func (s *session) finalize(ctx context.Context) (time.Duration, error) {
	spec, status := &s.stack.Spec, &s.stack.Status
	touched := status.LastUpdate != nil || status.CurrentUpdate != nil
	destroyed := status.LastUpdate != nil && status.LastUpdate.Type == v1.DestroyType &&
		status.LastUpdate.State == v1.SucceededStackStateMessage
	if !spec.DestroyOnFinalize || spec.Preview || !touched || destroyed {
		return 0, s.release(ctx)
	}
	req := engine.Request{Operation: engine.Destroy, RunProgram: spec.RunProgram}
	switch {
	case status.ProjectInfo != nil:
		req.Project = status.ProjectInfo.Name
	case spec.ProgramRef != nil:
		req.Project = spec.ProgramRef.Name
	default:
		return 0, s.release(ctx)
	}
	revision := ""
	if spec.RunProgram {
		var err error
		if req.Program, revision, err = s.program(ctx); err != nil {
			return 0, err
		}
	} else if last := status.LastUpdate; last != nil {
		revision = last.LastAttemptedCommit
	}
	cause := "Stack is deleted"
	if last := status.LastUpdate; last != nil && last.Type == v1.DestroyType {
		var wait time.Duration
		if cause, wait = due(s.stack, revision, time.Now()); cause == "" {
			s.conclude()
			return wait, nil
		}
	}
	if wait, err := s.run(ctx, cause, revision, req); wait != 0 || err != nil {
		return wait, err
	}
	return 0, s.release(ctx)
}

// release lets the Stack go.
func (s *session) release(ctx context.Context) error {
	controllerutil.RemoveFinalizer(s.stack, v1.StackFinalizer)
	if err := s.patch(ctx); err != nil {
		return fmt.Errorf("remove finalizer from Stack %s: %w", client.ObjectKeyFromObject(s.stack), err)
	}
	return nil
}

// program reads the Program and checks it.
func (s *session) program(ctx context.Context) (content []byte, revision string, err error) {
	if s.stack.Spec.ProgramRef == nil {
		return nil, "", invalid("no source: set spec.programRef")
	}
	key := client.ObjectKey{Namespace: s.stack.Namespace, Name: s.stack.Spec.ProgramRef.Name}
	program := &v1.Program{}
	if err := s.reader.Get(ctx, key, program); apierrors.IsNotFound(err) {
		return nil, "", unavailable("spec.programRef: there is no Program %s: create it", key)
	} else if err != nil {
		return nil, "", fmt.Errorf("spec.programRef: %w", err)
	}
	if err := checkProgram(program); err != nil {
		return nil, "", unavailable("Program %s: %v", key, err)
	}
	return project(program)
}

func unavailable(format string, args ...any) error {
	return &stall{reason: v1.StalledSourceUnavailableReason, message: fmt.Sprintf(format, args...)}
}

// settle puts an error into the status. What it cannot say anything about goes
// back to the work queue.
func (s *session) settle(wait time.Duration, err error) (time.Duration, error) {
	var stalled *stall
	switch {
	case err == nil:
		return wait, nil
	case errors.As(err, &stalled):
		s.stack.Status.MarkStalled(stalled.reason, stalled.message)
		if stalled.reason == v1.StalledSpecInvalidReason {
			s.event(corev1.EventTypeWarning, v1.StackConfigInvalidEvent, stalled.message)
		}
		return 0, nil
	case errors.Is(err, context.Canceled), apierrors.IsConflict(err):
		return 0, err
	}
	s.stack.Status.MarkReconciling(v1.ReconcilingRetryReason, err.Error())
	return unavailableRetry, nil
}

// patch writes the Stack's metadata, save its status.
func (s *session) patch(ctx context.Context) error {
	status := s.stack.Status
	saved := s.saved.DeepCopy()
	saved.Status = status
	if err := s.client.Patch(ctx, s.stack, client.MergeFrom(saved)); err != nil {
		return client.IgnoreNotFound(err)
	}
	s.saved.ObjectMeta = *s.stack.ObjectMeta.DeepCopy()
	s.stack.Status = status
	return nil
}

// save writes the Stack's status if it has changed.
func (s *session) save(ctx context.Context) error {
	released := !s.stack.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(s.stack, v1.StackFinalizer)
	if released || equality.Semantic.DeepEqual(s.saved.Status, s.stack.Status) {
		return nil
	}
	// What became of an update is written even when the operator is stopping.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := s.client.Status().Patch(ctx, s.stack, client.MergeFrom(s.saved)); err != nil {
		return fmt.Errorf("write status of Stack %s: %w", client.ObjectKeyFromObject(s.stack), err)
	}
	s.saved = s.stack.DeepCopy()
	return nil
}

func (s *session) event(kind, reason, message string) {
	const longest = 1000
	if len(message) > longest {
		message = strings.ToValidUTF8(message[:longest], "") + "..."
	}
	s.recorder.Eventf(s.stack, nil, kind, reason, "Reconcile", "%s", message)
}
