package v1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of conditions follow the kstatus convention. An observed object always has the condition Ready. It has Reconciling
// while the operator works on it or will retry, and Stalled while something must change first.
const (
	// ReadyCondition is True if the last update applied the object.
	ReadyCondition = "Ready"

	// ReconcilingCondition is True while an update runs or the operator will retry it.
	ReconcilingCondition = "Reconciling"

	// StalledCondition is True if the operator cannot apply the object until something changes.
	StalledCondition = "Stalled"

	// DriftedCondition is True if the last drift check found a difference, False if it found none, and Unknown if it failed. Only
	// the embedded operator sets it.
	DriftedCondition = "Drifted"
)

// The reasons of the Drifted condition.
const (
	// DriftFoundReason is the reason of True.
	DriftFoundReason = "DriftFound"

	// NoDriftReason is the reason of False.
	NoDriftReason = "NoDrift"

	// DriftCheckFailedReason is the reason of Unknown.
	DriftCheckFailedReason = "CheckFailed"
)

// The reasons of the Ready condition.
const (
	// ReadyCompletedReason is the reason of True: the operator has applied the Stack, or the Program is well formed.
	ReadyCompletedReason = "ProcessingCompleted"

	// NotReadyInProgressReason is the reason of False while Reconciling is True.
	NotReadyInProgressReason = "NotReadyInProgress"

	// NotReadyStalledReason is the reason of False while Stalled is True.
	NotReadyStalledReason = "NotReadyStalled"
)

// The reasons of the Reconciling condition.
const (
	// ReconcilingProcessingReason means that an update of the Stack runs or waits for a slot.
	ReconcilingProcessingReason = "StackProcessing"

	// ReconcilingRetryReason means that the update failed and that the operator retries it.
	ReconcilingRetryReason = "RetryingAfterFailure"

	// ReconcilingPreviewFailedReason means that the preview failed and that the operator retries it.
	ReconcilingPreviewFailedReason = "PreviewFailed"

	// ReconcilingPrerequisiteNotSatisfiedReason means that the Stack waits for a Stack in spec.prerequisites.
	ReconcilingPrerequisiteNotSatisfiedReason = "PrerequisiteNotSatisfied"
)

// The reasons of the Stalled condition.
const (
	// StalledSpecInvalidReason means that the spec of the Stack or the Program is not valid, or that the operator does not support
	// it.
	StalledSpecInvalidReason = "SpecInvalid"

	// StalledSourceUnavailableReason means that the program does not exist, is not valid, or cannot be fetched.
	StalledSourceUnavailableReason = "SourceUnavailable"

	// StalledTypeNotAllowedReason means that a project from a source has a declaration that the platform does not allow the team.
	StalledTypeNotAllowedReason = "TypeNotAllowed"

	// StalledTooLargeReason means that the events, the outputs or the printed output of an update exceed the operator's limits, that
	// the stack's state does, or that the API server rejects the status as too large. The operator does not retry before a change.
	StalledTooLargeReason = "TooLarge"

	// StalledConflictReason means that another update holds the stack's lock and that spec.retryOnUpdateConflict is not set.
	StalledConflictReason = "UpdateConflict"

	// StalledAwaitingApprovalReason means that the update or the destroy would do something that needs an approval, and that
	// status.approval names the Plan to approve.
	StalledAwaitingApprovalReason = "AwaitingApproval"

	// StalledNamespaceTerminatingReason means that the namespace is being deleted and that the operator can no longer destroy the
	// Stack's resources.
	StalledNamespaceTerminatingReason = "NamespaceTerminating"

	// StalledUpdateFailedReason means that the update failed repeatedly. The operator still retries it, with growing waits, and at
	// once after a change.
	StalledUpdateFailedReason = "UpdateFailed"
)

// MarkReady sets the conditions of a Stack that the operator has applied.
func (s *StackStatus) MarkReady(message string) {
	meta.RemoveStatusCondition(&s.Conditions, ReconcilingCondition)
	meta.RemoveStatusCondition(&s.Conditions, StalledCondition)
	s.set(ReadyCondition, metav1.ConditionTrue, ReadyCompletedReason, message)
}

// MarkReconciling sets the conditions of a Stack that is not applied and that the operator works on or will retry.
func (s *StackStatus) MarkReconciling(reason, message string) {
	meta.RemoveStatusCondition(&s.Conditions, StalledCondition)
	s.set(ReconcilingCondition, metav1.ConditionTrue, reason, message)
	s.set(ReadyCondition, metav1.ConditionFalse, NotReadyInProgressReason, message)
}

// MarkStalled sets the conditions of a Stack that the operator cannot apply until something changes.
func (s *StackStatus) MarkStalled(reason, message string) {
	meta.RemoveStatusCondition(&s.Conditions, ReconcilingCondition)
	s.set(StalledCondition, metav1.ConditionTrue, reason, message)
	s.set(ReadyCondition, metav1.ConditionFalse, NotReadyStalledReason, message)
}

// MarkDrift sets the condition of a Stack whose drift check has ended. reason is one of the reasons of [DriftedCondition].
func (s *StackStatus) MarkDrift(reason, message string) {
	status := metav1.ConditionUnknown
	switch reason {
	case DriftFoundReason:
		status = metav1.ConditionTrue
	case NoDriftReason:
		status = metav1.ConditionFalse
	}
	s.set(DriftedCondition, status, reason, message)
}

// ForgetDrift removes the result of the last drift check.
func (s *StackStatus) ForgetDrift() {
	s.Drift = nil
	meta.RemoveStatusCondition(&s.Conditions, DriftedCondition)
}

func (s *StackStatus) set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{
		Type:               kind,
		Status:             status,
		Reason:             reason,
		Message:            message,
		ObservedGeneration: s.ObservedGeneration,
	})
}

// EverSucceeded reports whether an operation on the Stack has succeeded. Nil means that there was none yet.
func (u *StackUpdateState) EverSucceeded() bool { return u != nil && u.LastSuccessfulCommit != "" }
