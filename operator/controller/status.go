package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/lookup"
	"github.com/strata-platform/strata/operator/controller/outcome"
	"github.com/strata-platform/strata/operator/controller/prerequisites"
	"github.com/strata-platform/strata/operator/controller/report"
	"github.com/strata-platform/strata/operator/controller/schedule"
	"github.com/strata-platform/strata/operator/controller/stall"
)

// patchStatus writes the Stack's status. If that fails, the Stack in memory keeps its
// status.
func (s *session) patchStatus(ctx context.Context) error {
	// Patch overwrites its argument with the response.
	sent := s.stack.DeepCopy()
	if err := s.client.Status().Patch(ctx, sent, client.MergeFrom(s.saved)); err != nil {
		return err
	}
	*s.stack = *sent
	return nil
}

// observe records in the status which generation and reconcile request the session
// reconciles. observe reports whether the generation has changed. observe writes the
// status before the work, so that no reader takes the Ready condition of the previous
// generation for that of the present one.
func (s *session) observe(ctx context.Context) (changed bool, err error) {
	stack, status := s.stack, &s.stack.Status
	request := stack.Annotations[v1.ReconcileRequestAnnotation]
	changed = status.ObservedGeneration != stack.Generation
	s.unseen = changed || status.ObservedReconcileRequest != request
	status.ObservedGeneration, status.ObservedReconcileRequest = stack.Generation, request
	if !s.unseen {
		return changed, nil
	}
	status.MarkReconciling(v1.ReconcilingProcessingReason, fmt.Sprintf("reconciling generation %d", stack.Generation))
	return changed, s.save(ctx)
}

// unsaved returns a stranded error for a forbidden status write of a deleted Stack, and err otherwise.
func (s *session) unsaved(deleted bool, err error) error {
	if deleted && apierrors.IsForbidden(err) {
		return &stranded{s.strandedMessage(), err}
	}
	return err
}

// settle writes an error into the status. The error goes back to the work queue unless
// another event or a fixed wait brings the Stack back.
func (s *session) settle(ctx context.Context, wait time.Duration, err error) (time.Duration, error) {
	var stalled *stall.Error
	var unmet *prerequisites.UnmetError
	switch {
	case err == nil:
		return wait, nil
	case errors.Is(err, lookup.ErrActive):
		s.lookingUp = true
		// Without a new generation or request, the present conditions stay true during the lookup.
		if s.unseen {
			s.stack.Status.MarkReconciling(v1.ReconcilingProcessingReason, err.Error())
		}
		return 0, nil
	case errors.As(err, &stalled):
		s.stack.Status.MarkStalled(stalled.Reason, stalled.Message)
		if s.unseen {
			log.FromContext(ctx).Error(report.Error{Err: err}, "the Stack is stalled", "cause", stalled.Reason)
		}
		if stalled.Reason == v1.StalledSpecInvalidReason {
			s.event(corev1.EventTypeWarning, v1.StackConfigInvalidEvent, stalled.Message)
			return 0, nil
		}
		if stalled.Reason == v1.StalledAwaitingApprovalReason {
			return wait, nil // An Approval wakes the Stack.
		}
		return schedule.SourceRetry, nil
	case errors.As(err, &unmet):
		s.stack.Status.MarkReconciling(v1.ReconcilingPrerequisiteNotSatisfiedReason, unmet.Error())
		return 0, nil
	case errors.Is(err, context.Canceled), errors.As(err, new(*stranded)), apierrors.IsConflict(err):
		return 0, err
	}
	s.stack.Status.MarkReconciling(v1.ReconcilingRetryReason, err.Error())
	return 0, err
}

// patch writes the Stack except its status.
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
	report.Bound(&s.stack.Status)
	if released || equality.Semantic.DeepEqual(s.saved.Status, s.stack.Status) {
		return nil
	}
	// The result of an update is written even while the operator is stopping.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err := s.patchStatus(ctx)
	if outcome.Rejected(err) {
		outcome.Reduce(&s.stack.Status, &s.saved.Status, err)
		err = s.patchStatus(ctx)
	}
	if apierrors.IsNotFound(err) {
		// Somebody removed the finalizer, and the Stack no longer exists.
		return nil
	} else if err != nil {
		return fmt.Errorf("write status of Stack %s: %w", s.key(), err)
	}
	s.saved = s.stack.DeepCopy()
	return nil
}
