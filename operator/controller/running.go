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
	"github.com/strata-platform/strata/operator/engine"
)

// runLimit is how long a run may take, and who says so.
type runLimit struct {
	after time.Duration
	by    string
}

// limit returns the limit that the platform gives the namespace, or else the
// operator's.
func (s *session) limit(ctx context.Context) (runLimit, error) {
	policy, err := s.tenant(ctx)
	switch {
	case errors.Is(err, errNoTenant), err == nil && (policy == nil || policy.RunTimeout == ""):
		return runLimit{s.runTimeout, "the operator allows (--run-timeout)"}, nil
	case err != nil:
		return runLimit{}, err
	}
	after, err := time.ParseDuration(policy.RunTimeout)
	if err != nil || after <= 0 {
		return runLimit{}, fmt.Errorf("TenantPolicy %s/%s: spec.runTimeout %q is not a duration, such as 15m: ask %s to correct it",
			s.stack.Namespace, tenantName, policy.RunTimeout, policy.Contact)
	}
	return runLimit{after, fmt.Sprintf("team %s is allowed (runTimeout in teams.yaml; for more ask %s)", policy.Team, policy.Contact)}, nil
}

// engineRun runs the engine for as long as a run may take, and counts the run.
func (s *session) engineRun(ctx context.Context, limit runLimit, req engine.Request) (*engine.Result, error) {
	stoppable, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	limited, cancel := context.WithTimeoutCause(stoppable, limit.after, errTookTooLong)
	defer cancel()
	s.running(s.key())
	s.slots.stoppable(s.key(), func() { stop(errGaveWay) })
	if s.stack.DeletionTimestamp.IsZero() {
		go s.stopWhenDeleted(limited, s.key(), stop)
	}
	req.New = s.stack.Status.LastUpdate == nil && !req.Interrupted
	began := time.Now()
	req.ReportEvery = s.reportEvery
	req.Working = func(resources []string) { s.working(ctx, req.Operation, time.Since(began), resources) }
	result, err := s.engine.Run(limited, req)
	if failure := (*engine.Error)(nil); req.Operation == engine.Destroy && errors.As(err, &failure) && failure.Reason == engine.NotAllowed {
		// What is not allowed is not run, and holds back no deletion.
		s.event(corev1.EventTypeWarning, v1.StackConfigInvalidEvent, "spec.runProgram: destroying without the program: "+failure.Message)
		req.RunProgram, req.Source, req.Path, req.Allowed = false, nil, "", nil
		result, err = s.engine.Run(limited, req)
	}
	s.metrics.ran(s.stack.Namespace, string(req.Operation), err, time.Since(began))
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

// stopMessage says why a run was stopped.
func stopMessage(cause error, limit runLimit) string {
	const stopped = "the run was stopped in good order because "
	switch {
	case errors.Is(cause, errDeleted):
		return stopped + "the Stack is deleted"
	case errors.Is(cause, errGaveWay):
		return stopped + "memory is short and another team had no run; it goes on with the next one"
	}
	return fmt.Sprintf(stopped+"it took longer than %s, which is what %s; it goes on with the next one", limit.after, limit.by)
}

// The causes for which a run is stopped before its end.
var (
	// errDeleted is for a run of a deleted Stack.
	errDeleted = errors.New("the Stack is deleted")

	// errTookTooLong is for a run that took longer than it may.
	errTookTooLong = errors.New("the run took too long")

	// errGaveWay is for a run whose memory another namespace needs.
	errGaveWay = errors.New("the run gave way to another team's")
)

// deletionPoll is how often a run's Stack is looked at, in the cache.
const deletionPoll = time.Second

// stopWhenDeleted stops a run when its Stack is deleted: what the run waits for may never come, and nobody wants it any more.
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

// working says in the conditions what a run waits for that takes long.
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
		log.FromContext(ctx).Info("the conditions do not say what a run waits for", "reason", err.Error())
	}
}

// warnings returns what somebody should look at after a run, whether it failed or
// not.
func warnings(result *engine.Result, err error) []string {
	if failure := (*engine.Error)(nil); errors.As(err, &failure) {
		return failure.Warnings
	}
	if result == nil {
		return nil
	}
	return result.Warnings
}
