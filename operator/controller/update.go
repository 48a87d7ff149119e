package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/approvals"
	"github.com/strata-platform/strata/operator/controller/identity"
	"github.com/strata-platform/strata/operator/controller/outcome"
	"github.com/strata-platform/strata/operator/controller/report"
	"github.com/strata-platform/strata/operator/controller/schedule"
	"github.com/strata-platform/strata/operator/controller/stall"
	"github.com/strata-platform/strata/operator/controller/tenant"
	"github.com/strata-platform/strata/operator/controller/trace"
	"github.com/strata-platform/strata/operator/engine"
)

// run runs an operation on the Stack and writes the result into the status. run returns
// the wait before the next operation; zero means never.
func (s *session) run(ctx context.Context, cause string, what schedule.Version, req engine.Request) (time.Duration, error) {
	pass, err := s.approvals.Guard(ctx, approvals.Run{Stack: s.stack, Version: what, Request: &req, Depend: s.depend}, s.tenant)
	if err != nil {
		return 0, err
	}
	if !s.slots.Take(s.key()) {
		s.waiting = true
		s.stack.Status.MarkReconciling(v1.ReconcilingProcessingReason,
			fmt.Sprintf("%s waits until another run ends: %s", req.Operation, cause))
		return 0, nil
	}
	limit, err := s.tenant.RunLimit(ctx, tenant.RunLimit{After: s.runTimeout, By: "the operator's limit (--run-timeout)"})
	if err != nil {
		return 0, err
	}
	missing, err := identity.Set(ctx, s.client, s.config, s.stack, s.tenant, &req)
	if err != nil {
		return 0, err
	}
	if missing.Err != nil && !missing.Terminating {
		s.event(corev1.EventTypeWarning, v1.StackUpdateFailureEvent, "destroying without access to the cluster: "+missing.Err.Error())
	}
	if missing.Terminating {
		req.Approve = nil // Only the platform can delete the namespace of a team.
	}
	req.Interrupted = s.interrupted
	before, cutOff := s.stack.Status.ProjectInfo, s.stack.Status.CurrentUpdate
	current := v1.CurrentStackUpdate{
		Generation:       s.stack.Generation,
		ReconcileRequest: s.stack.Annotations[v1.ReconcileRequestAnnotation],
		Name:             fmt.Sprintf("%s-%x", s.stack.Name, time.Now().UnixMilli()),
		Commit:           what.Revision,
		Inputs:           what.Inputs,
	}
	s.stack.Status.CurrentUpdate = &current
	s.stack.Status.MarkReconciling(v1.ReconcilingProcessingReason, fmt.Sprintf("%s is running: %s", req.Operation, cause))
	// CurrentUpdate must be saved before the run, because it tells a later operator that a
	// lock may be its own.
	if err := s.begin(ctx, &req); err != nil {
		s.stack.Status.CurrentUpdate = cutOff
		return 0, err
	}
	s.event(corev1.EventTypeNormal, v1.StackUpdateDetectedEvent, cause)

	traced := trace.Begin(ctx, s.runRecords, s.stack, cause, current, &req)
	result, err := s.engineRun(ctx, limit, req)
	if ctx.Err() != nil {
		// The operator is stopping. CurrentUpdate stays, so that the next operator resumes
		// the update.
		return 0, fmt.Errorf("%s of Stack %s was stopped: %w", req.Operation, s.key(), ctx.Err())
	}
	if req.Operation == engine.Destroy && outcome.NothingToDestroy(err, s.stack.Status.LastUpdate) {
		result, err = &engine.Result{}, nil
	}
	traced.End(ctx, pass.Given(), err)
	if refused := (*stall.Refusal)(nil); errors.As(err, &refused) {
		s.stack.Status.CurrentUpdate = cutOff
		if before == nil {
			s.stack.Status.ProjectInfo = nil
		}
		return 0, refused.Err
	}
	if err != nil {
		if before == nil && outcome.NeverBegan(err) {
			s.stack.Status.ProjectInfo = nil
		}
		// The status holds the backoff, so that it outlives the operator. The work queue does not see this error and does not
		// log it.
		log.FromContext(ctx).Error(report.Error{Err: err}, "run failed", "operation", req.Operation)
		s.fail(current, req, err)
		pass.End(ctx, false)
		traced.KeepLog(ctx, s.client, s.stack, s.stack.Status.LastUpdate.Message, s.printed)
		if missing.Terminating {
			s.stack.Status.MarkStalled(v1.StalledNamespaceTerminatingReason, "the namespace is being deleted, and the Stack's service account with it: "+
				s.stack.Status.LastUpdate.Message+outcome.LetGo(s.stack))
		}
		return schedule.Backoff(s.stack), nil
	}
	traced.KeepLog(ctx, s.client, s.stack, "", s.printed)
	end := outcome.Succeed(&s.stack.Status, current, req, result)
	pass.End(ctx, true)
	s.event(end.Kind, end.Reason, end.Message)
	outcome.Conclude(s.stack, s.unconfined)
	_, wait := schedule.Due(s.stack, what, time.Now())
	return wait, nil
}

// fail records a failed run in the status.
func (s *session) fail(current v1.CurrentStackUpdate, req engine.Request, err error) {
	end, reason := outcome.Fail(s.stack, current, req, err, outcome.Interruption{Earlier: s.interrupted, GaveWay: errors.Is(err, errGaveWay)})
	s.event(end.Kind, end.Reason, end.Message)
	switch reason {
	case engine.SourceUnavailable, engine.ProjectInvalid:
		// The cached lookup may be the cause: the commit may be gone, or the token expired.
		s.lookups.Forget(s.key())
	case engine.NotAllowed:
		s.refusals.Note(s.stack, req.Allowed)
	}
}
