// Package outcome records the end of a run in the status of a Stack.
package outcome

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
	"github.com/strata-platform/strata/operator/controller/fields"
	"github.com/strata-platform/strata/operator/controller/schedule"
	"github.com/strata-platform/strata/operator/engine"
)

// NeverBegan reports whether a run failed before the engine changed the stack. The
// stack then holds no new resources.
func NeverBegan(err error) bool {
	var failure *engine.Error
	return !errors.As(err, &failure) || !failure.Began && failure.Reason != engine.Interrupted
}

// NothingToDestroy reports whether a destroy failed because no run ever created the
// stack. After a success, a missing stack means that its state is lost, and its
// resources would be orphaned.
func NothingToDestroy(err error, last *v1.StackUpdateState) bool {
	var failure *engine.Error
	return errors.As(err, &failure) && failure.Reason == engine.StackMissing && !last.EverSucceeded()
}

// Event is an event of a Stack.
type Event struct {
	// Kind is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Kind string

	// Reason is the event's reason, one of the constants v1.Stack...Event.
	Reason, Message string
}

// Succeed records an operation that succeeded, except its conditions, and returns its event.
func Succeed(status *v1.StackStatus, current v1.CurrentStackUpdate, req engine.Request, result *engine.Result) Event {
	status.CurrentUpdate = nil
	last := status.LastUpdate
	status.LastUpdate = updateState(current, req.Operation, v1.SucceededStackStateMessage)
	if last != nil {
		status.LastUpdate.Approval = last.Approval
	}
	status.LastUpdate.LastSuccessfulCommit = current.Commit
	if info := status.ProjectInfo; info != nil {
		info.SecretsProvider = cmp.Or(req.SecretsProvider, info.SecretsProvider)
		info.Runtime = cmp.Or(result.Runtime, info.Runtime)
	}
	if req.Operation == engine.Destroy || req.Refresh && req.Operation == engine.Up && len(req.Targets) == 0 {
		// Nothing is left that could differ, or the run has read the resources and repaired them.
		status.ForgetDrift()
	}
	if req.Operation == engine.Destroy {
		status.Outputs = nil
		if len(req.Targets) == 0 {
			// No resources are left to destroy.
			status.ProjectInfo = nil
		}
		return Event{corev1.EventTypeNormal, v1.StackDestroySuccessfulEvent, "the stack's resources are destroyed" + counted(result.Changes)}
	}
	event := Event{corev1.EventTypeNormal, v1.StackUpdateSuccessfulEvent, fmt.Sprintf("%s succeeded%s", req.Operation, counted(result.Changes))}
	if req.Operation == engine.Preview {
		return event
	}
	status.Outputs = v1.StackOutputs{}
	for name, output := range result.Outputs {
		value := apiextensionsv1.JSON{Raw: output.Value}
		if output.Secret {
			value.Raw = []byte(`"` + v1.SecretOutput + `"`)
		}
		status.Outputs[name] = value
	}
	return event
}

// Interruption says how a run may have been interrupted.
type Interruption struct {
	// Earlier says that an earlier operation of the Stack began and did not end.
	Earlier bool

	// GaveWay says that the operator stopped the run because another namespace needed its memory.
	GaveWay bool
}

// Fail records an operation of a Stack that failed with err, and derives the conditions. Fail returns the operation's event
// and the reason of the failure, which is [engine.Failed] if err is not an [*engine.Error].
func Fail(stack *v1.Stack, current v1.CurrentStackUpdate, req engine.Request, err error, interrupted Interruption) (Event, engine.Reason) {
	operation := req.Operation
	status := &stack.Status
	reason := engine.Failed
	message := err.Error()
	stopped, done := false, false
	if failure := (*engine.Error)(nil); errors.As(err, &failure) {
		reason, message, done = failure.Reason, failure.Message, failure.Done
		stopped = reason == engine.Interrupted || reason == engine.TooLarge && failure.Began && !done
	}
	// CurrentUpdate of a killed update stays as long as its lock may exist.
	if !stopped && (reason != engine.Locked || !interrupted.Earlier) {
		status.CurrentUpdate = nil
	}
	last, next := status.LastUpdate, updateState(current, operation, v1.FailedStackStateMessage)
	next.Message = message
	if last != nil {
		next.LastSuccessfulCommit, next.Approval = last.LastSuccessfulCommit, last.Approval
		if last.State == v1.FailedStackStateMessage && last.Type == next.Type && last.Generation == next.Generation &&
			last.ReconcileRequest == next.ReconcileRequest && last.LastAttemptedCommit == next.LastAttemptedCommit && last.Inputs == next.Inputs {
			next.Failures = last.Failures + 1
		}
	}
	if done {
		next.LastSuccessfulCommit = current.Commit
	}
	if reason == engine.Locked && stack.Spec.RetryOnUpdateConflict || interrupted.GaveWay {
		// The cause of this failure disappears soon, so the waits do not grow.
		next.Failures = 0
	}
	status.LastUpdate = next
	event := Event{corev1.EventTypeWarning, v1.StackUpdateFailureEvent, fmt.Sprintf("%s failed: %s", operation, message)}
	if reason == engine.Locked {
		event.Reason = v1.StackUpdateConflictEvent
	}
	switch {
	case reason == engine.Locked && !stack.Spec.RetryOnUpdateConflict:
		status.MarkStalled(v1.StalledConflictReason, message)
		return event, reason
	case reason == engine.SourceUnavailable, reason == engine.ProjectInvalid:
		status.MarkStalled(v1.StalledSourceUnavailableReason, message)
		return event, reason
	case reason == engine.NotAllowed:
		status.MarkStalled(v1.StalledTypeNotAllowedReason, message)
		return event, reason
	case reason == engine.RuntimeMissing:
		status.MarkStalled(v1.StalledSpecInvalidReason, message)
		return event, reason
	case reason == engine.TooLarge:
		next.Reason = v1.StalledTooLargeReason
	}
	Conclude(stack, nil)
	return event, reason
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

// Conclude derives the conditions of a Stack from its last update. unconfined says why runs are not isolated, and is nil if
// they are.
func Conclude(stack *v1.Stack, unconfined error) {
	status := &stack.Status
	last := status.LastUpdate
	ready := meta.FindStatusCondition(status.Conditions, v1.ReadyCondition)
	switch {
	case last.State == v1.FailedStackStateMessage && ready != nil && strings.Contains(ready.Message, last.Message):
		// The conditions already have this message, and possibly more.
	case last.State == v1.SucceededStackStateMessage:
		message := fmt.Sprintf("%s of revision %s succeeded", last.Type, last.LastSuccessfulCommit)
		if unused := fields.NotApplied(&stack.Spec); len(unused) > 0 {
			message += "; has no effect under this operator: " + strings.Join(unused, ", ")
		}
		if unconfined != nil {
			message += "; the run was not isolated: " + unconfined.Error()
		}
		status.MarkReady(message)
	case last.Reason != "":
		status.MarkStalled(last.Reason, last.Message+LetGo(stack))
	case last.Failures >= schedule.FailuresToStall-1:
		status.MarkStalled(v1.StalledUpdateFailedReason, last.Message+LetGo(stack))
	case last.Type == v1.PreviewType:
		status.MarkReconciling(v1.ReconcilingPreviewFailedReason, last.Message)
	default:
		status.MarkReconciling(v1.ReconcilingRetryReason, last.Message+LetGo(stack))
	}
}

// LetGo returns, for a deleted Stack, the advice on how to delete it without a
// successful destroy. For other Stacks it returns an empty string.
func LetGo(stack *v1.Stack) string {
	if stack.DeletionTimestamp.IsZero() {
		return ""
	}
	return "; to delete the Stack and keep its resources, set spec.destroyOnFinalize to false"
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
