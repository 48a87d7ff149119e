package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/stall"
	"github.com/strata-platform/strata/operator/controller/tenant"
	"github.com/strata-platform/strata/operator/engine"
)

// engineRun runs the engine within the time limit, and counts the run.
func (s *session) engineRun(ctx context.Context, limit tenant.RunLimit, req engine.Request) (*engine.Result, error) {
	stoppable, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	limited, cancel := context.WithTimeoutCause(stoppable, limit.After, errTookTooLong)
	defer cancel()
	s.running(s.key())
	s.slots.Stoppable(s.key(), func() { stop(errGaveWay) })
	if s.stack.DeletionTimestamp.IsZero() {
		go s.stopWhenDeleted(limited, s.key(), stop)
	}
	req.New, req.Unproven = s.stack.Status.LastUpdate == nil && !req.Interrupted, !s.stack.Status.LastUpdate.EverSucceeded()
	began := time.Now()
	req.ReportEvery = s.reportEvery
	req.Named = func(project, stack string) string { return s.claims.Owner(ctx, s.stack.Namespace, project, stack) }
	req.Working = func(resources []string) { s.working(ctx, req.Operation, time.Since(began), resources) }
	s.printed = ""
	req.Printed = func(text string) { s.printed = text }
	result, err := s.engine.Run(limited, req)
	if failure := (*engine.Error)(nil); req.Operation == engine.Destroy && errors.As(err, &failure) && failure.Reason == engine.NotAllowed {
		// A program that the policy does not allow must not run, and must not block the
		// deletion either.
		s.event(corev1.EventTypeWarning, v1.StackConfigInvalidEvent, "spec.runProgram: destroying without the program: "+failure.Message)
		req.RunProgram, req.Source, req.Path, req.Allowed = false, nil, "", nil
		result, err = s.engine.Run(limited, req)
	}
	if !errors.As(err, new(*stall.Refusal)) {
		s.metrics.Ran(s.stack.Namespace, string(req.Operation), err, time.Since(began))
	}
	for _, warning := range warnings(result, err) {
		s.event(corev1.EventTypeWarning, v1.StackUpdateInterruptedEvent, warning)
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, &engine.Error{
			Reason: engine.Interrupted, Operation: req.Operation, Stack: req.Stack,
			Err: fmt.Errorf("%w: %w", context.Cause(limited), err), Message: stopMessage(context.Cause(limited), limit),
		}
	}
	return result, err
}

// stopMessage returns why a run was stopped.
func stopMessage(cause error, limit tenant.RunLimit) string {
	const stopped = "the operator stopped the run because "
	switch {
	case errors.Is(cause, errDeleted):
		return stopped + "the Stack is deleted"
	case errors.Is(cause, errGaveWay):
		return stopped + "memory is short and another team has no run; the next run continues"
	}
	return fmt.Sprintf(stopped+"it took longer than %s, %s; the next run continues", limit.After, limit.By)
}

// Causes of a run's cancellation.
var (
	// errDeleted stops a run whose Stack is deleted.
	errDeleted = errors.New("the Stack is deleted")

	// errTookTooLong stops a run that exceeds its time limit.
	errTookTooLong = errors.New("the run took too long")

	// errGaveWay stops a run whose memory another namespace needs.
	errGaveWay = errors.New("the run gave way to another team's")
)

// deletionPoll is how often a run checks the cache for the deletion of its Stack.
const deletionPoll = time.Second

// stopWhenDeleted stops a run when its Stack is deleted. The run may wait for something that never happens, and its result
// is no longer needed.
func (s *session) stopWhenDeleted(ctx context.Context, key client.ObjectKey, stop context.CancelCauseFunc) {
	ticker := time.NewTicker(deletionPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		stack := &v1.Stack{}
		if err := s.client.Get(ctx, key, stack); err == nil && !stack.DeletionTimestamp.IsZero() {
			stop(errDeleted)
			return
		}
	}
}

// working reports in the conditions what a long run waits for.
func (s *session) working(ctx context.Context, operation engine.Operation, since time.Duration, resources []string) {
	message := fmt.Sprintf("%s has been running for %s", operation, since.Round(time.Second))
	if len(resources) > 0 {
		message += ": it waits for " + resources[0]
		if more := len(resources) - 1; more > 0 {
			message += fmt.Sprintf(" and %d more", more)
		}
	}
	s.stack.Status.MarkReconciling(v1.ReconcilingProcessingReason, message)
	if err := s.save(ctx); err != nil {
		log.FromContext(ctx).Info("the conditions do not report what a run waits for", "reason", err.Error())
	}
}

// warnings returns the warnings of a run, whether it failed or not.
func warnings(result *engine.Result, err error) []string {
	if failure := (*engine.Error)(nil); errors.As(err, &failure) {
		return failure.Warnings
	}
	if result == nil {
		return nil
	}
	return result.Warnings
}
