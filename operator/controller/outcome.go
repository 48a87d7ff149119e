package controller

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/schedule"
	"github.com/strata-platform/strata/operator/engine"
)

// neverBegan reports whether a run failed before the engine changed the stack. The
// stack then holds no new resources.
func neverBegan(err error) bool {
	var failure *engine.Error
	return !errors.As(err, &failure) || !failure.Began && failure.Reason != engine.Interrupted
}

// nothingToDestroy reports whether a destroy failed because no run ever created the
// stack. After a success, a missing stack means that its state is lost, and its
// resources would be orphaned.
func nothingToDestroy(err error, last *v1.StackUpdateState) bool {
	var failure *engine.Error
	return errors.As(err, &failure) && failure.Reason == engine.StackMissing && (last == nil || last.LastSuccessfulCommit == "")
}

// succeed records an update that succeeded.
func (s *session) succeed(current v1.CurrentStackUpdate, req engine.Request, result *engine.Result) {
	status := &s.stack.Status
	status.CurrentUpdate = nil
	status.LastUpdate = updateState(current, req.Operation, v1.SucceededStackStateMessage)
	status.LastUpdate.LastSuccessfulCommit = current.Commit
	if info := status.ProjectInfo; info != nil {
		info.SecretsProvider = cmp.Or(req.SecretsProvider, info.SecretsProvider)
		info.Runtime = cmp.Or(result.Runtime, info.Runtime)
	}
	if req.Operation == engine.Destroy {
		status.Outputs = nil
		if len(req.Targets) == 0 {
			// No resources are left to destroy.
			status.ProjectInfo = nil
		}
		s.event(corev1.EventTypeNormal, v1.StackDestroySuccessfulEvent, "the stack's resources are destroyed"+counted(result.Changes))
		return
	}
	s.event(corev1.EventTypeNormal, v1.StackUpdateSuccessfulEvent, fmt.Sprintf("%s succeeded%s", req.Operation, counted(result.Changes)))
	if req.Operation == engine.Preview {
		return
	}
	status.Outputs = v1.StackOutputs{}
	for name, output := range result.Outputs {
		value := apiextensionsv1.JSON{Raw: output.Value}
		if output.Secret {
			value.Raw = []byte(`"` + v1.SecretOutput + `"`)
		}
		status.Outputs[name] = value
	}
}

// fail records an update that failed.
func (s *session) fail(current v1.CurrentStackUpdate, req engine.Request, err error) {
	operation := req.Operation
	status := &s.stack.Status
	reason := engine.Failed
	message := err.Error()
	stopped, done := false, false
	if failure := (*engine.Error)(nil); errors.As(err, &failure) {
		reason, message, done = failure.Reason, failure.Message, failure.Done
		stopped = reason == engine.Interrupted || reason == engine.TooLarge && failure.Began && !done
	}
	// CurrentUpdate of a killed update stays as long as its lock may exist.
	if !stopped && (reason != engine.Locked || !s.interrupted) {
		status.CurrentUpdate = nil
	}
	last, next := status.LastUpdate, updateState(current, operation, v1.FailedStackStateMessage)
	next.Message = message
	if last != nil {
		next.LastSuccessfulCommit = last.LastSuccessfulCommit
		if last.State == v1.FailedStackStateMessage && last.Type == next.Type && last.Generation == next.Generation &&
			last.ReconcileRequest == next.ReconcileRequest && last.LastAttemptedCommit == next.LastAttemptedCommit && last.Inputs == next.Inputs {
			next.Failures = last.Failures + 1
		}
	}
	if done {
		next.LastSuccessfulCommit = current.Commit
	}
	if reason == engine.Locked && s.stack.Spec.RetryOnUpdateConflict || errors.Is(err, errGaveWay) {
		// This failure passes soon by itself, so the waits do not grow.
		next.Failures = 0
	}
	status.LastUpdate = next
	event := v1.StackUpdateFailureEvent
	if reason == engine.Locked {
		event = v1.StackUpdateConflictEvent
	}
	s.event(corev1.EventTypeWarning, event, fmt.Sprintf("%s failed: %s", operation, message))
	switch reason {
	case engine.Locked:
		if !s.stack.Spec.RetryOnUpdateConflict {
			status.MarkStalled(v1.StalledConflictReason, message)
			return
		}
	case engine.SourceUnavailable, engine.ProjectInvalid:
		// The cached lookup may be the cause: the commit may be gone, or the token expired.
		s.lookups.Forget(s.key())
		status.MarkStalled(v1.StalledSourceUnavailableReason, message)
		return
	case engine.NotAllowed:
		s.refusals.note(s.stack, req.Allowed)
		status.MarkStalled(v1.StalledTypeNotAllowedReason, message)
		return
	case engine.RuntimeMissing:
		status.MarkStalled(v1.StalledSpecInvalidReason, message)
		return
	case engine.TooLarge:
		next.Reason = v1.StalledTooLargeReason
	}
	s.conclude()
}

func updateState(current v1.CurrentStackUpdate, operation engine.Operation, state v1.StackUpdateStateMessage) *v1.StackUpdateState {
	return &v1.StackUpdateState{
		Generation:          current.Generation,
		ReconcileRequest:    current.ReconcileRequest,
		Name:                current.Name,
		Type:                v1.UpdateType(operation),
		State:               state,
		LastAttemptedCommit: current.Commit,
		Inputs:              current.Inputs,
		LastResyncTime:      metav1.Now(),
	}
}

// conclude derives the conditions from the last update.
func (s *session) conclude() {
	status := &s.stack.Status
	last := status.LastUpdate
	ready := meta.FindStatusCondition(status.Conditions, v1.ReadyCondition)
	switch {
	case last.State == v1.FailedStackStateMessage && ready != nil && strings.Contains(ready.Message, last.Message):
		// The conditions already have this message, and possibly more.
	case last.State == v1.SucceededStackStateMessage:
		message := fmt.Sprintf("%s of revision %s succeeded", last.Type, last.LastSuccessfulCommit)
		if fields := notApplied(&s.stack.Spec); len(fields) > 0 {
			message += "; has no effect under this operator: " + strings.Join(fields, ", ")
		}
		if s.unconfined != nil {
			message += "; the run was not isolated: " + s.unconfined.Error()
		}
		status.MarkReady(message)
	case last.Reason != "":
		status.MarkStalled(last.Reason, last.Message+s.letGo())
	case last.Failures >= schedule.FailuresToStall-1:
		status.MarkStalled(v1.StalledUpdateFailedReason, last.Message+s.letGo())
	case last.Type == v1.PreviewType:
		status.MarkReconciling(v1.ReconcilingPreviewFailedReason, last.Message)
	default:
		status.MarkReconciling(v1.ReconcilingRetryReason, last.Message+s.letGo())
	}
}

// letGo returns, for a deleted Stack, the advice on how to delete it without a
// successful destroy. For other Stacks it returns an empty string.
func (s *session) letGo() string {
	if s.stack.DeletionTimestamp.IsZero() {
		return ""
	}
	return "; to end the Stack and leave what it made, set spec.destroyOnFinalize to false"
}

// counted formats the numbers of resources by step.
func counted(changes map[string]int) string {
	var parts []string
	for _, kind := range []string{"create", "update", "replace", "delete", "same"} {
		if n := changes[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
