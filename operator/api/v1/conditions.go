package v1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of conditions. Together they follow the kstatus convention: Ready is
// always there once an object has been seen, Reconciling while more is to come
// by itself, Stalled while something has to change first.
const (
	// ReadyCondition is True when the last update applied what the object says.
	ReadyCondition = "Ready"

	// ReconcilingCondition is True while an update runs or will be tried again.
	ReconcilingCondition = "Reconciling"

	// StalledCondition is True when the object cannot be applied as it stands.
	StalledCondition = "Stalled"
)

// The reasons of the Ready condition.
const (
	// ReadyCompletedReason is for True: the Stack has been applied, the Program is
	// well formed.
	ReadyCompletedReason = "ProcessingCompleted"

	// NotReadyInProgressReason is for False, beside Reconciling.
	NotReadyInProgressReason = "NotReadyInProgress"

	// NotReadyStalledReason is for False, beside Stalled.
	NotReadyStalledReason = "NotReadyStalled"
)

// The reasons of the Reconciling condition.
const (
	// ReconcilingProcessingReason is for a Stack whose update is running.
	ReconcilingProcessingReason = "StackProcessing"

	// ReconcilingRetryReason is for a Stack whose update failed and is tried again.
	ReconcilingRetryReason = "RetryingAfterFailure"

	// ReconcilingPreviewFailedReason is for a Stack whose preview failed.
	ReconcilingPreviewFailedReason = "PreviewFailed"

	// ReconcilingPrerequisiteNotSatisfiedReason is for a Stack that waits for
	// another one of spec.prerequisites.
	ReconcilingPrerequisiteNotSatisfiedReason = "PrerequisiteNotSatisfied"
)

// The reasons of the Stalled condition.
const (
	// StalledSpecInvalidReason is for a Stack's spec, or a Program, that cannot be
	// applied as it stands.
	StalledSpecInvalidReason = "SpecInvalid"

	// StalledSourceUnavailableReason is for a program that cannot be had.
	StalledSourceUnavailableReason = "SourceUnavailable"

	// StalledTypeNotAllowedReason is for a project from a source that declares what the platform does not allow the team.
	StalledTypeNotAllowedReason = "TypeNotAllowed"

	// StalledTooLargeReason is for an update whose events, outputs or output exceed what the operator takes, for a stack
	// whose state does, and for a Stack whose status the API server does not take. It is not tried again before a change.
	StalledTooLargeReason = "TooLarge"

	// StalledConflictReason is for a stack whose lock another update holds, when
	// spec.retryOnUpdateConflict is not set.
	StalledConflictReason = "UpdateConflict"

	// StalledNamespaceTerminatingReason is for a Stack that is to be destroyed in a
	// namespace that is being deleted, in which that has become impossible.
	StalledNamespaceTerminatingReason = "NamespaceTerminating"

	// StalledUpdateFailedReason is for an update that failed repeatedly. It is
	// tried again all the same, ever more rarely, and at once after a change.
	StalledUpdateFailedReason = "UpdateFailed"
)

// MarkReady says that the Stack has been applied.
func (s *StackStatus) MarkReady(message string) {
	meta.RemoveStatusCondition(&s.Conditions, ReconcilingCondition)
	meta.RemoveStatusCondition(&s.Conditions, StalledCondition)
	s.set(ReadyCondition, metav1.ConditionTrue, ReadyCompletedReason, message)
}

// MarkReconciling says that the Stack is not applied yet, but will be without
// anyone's help.
func (s *StackStatus) MarkReconciling(reason, message string) {
	meta.RemoveStatusCondition(&s.Conditions, StalledCondition)
	s.set(ReconcilingCondition, metav1.ConditionTrue, reason, message)
	s.set(ReadyCondition, metav1.ConditionFalse, NotReadyInProgressReason, message)
}

// MarkStalled says that the Stack is not applied and that something has to
// change before it can be.
func (s *StackStatus) MarkStalled(reason, message string) {
	meta.RemoveStatusCondition(&s.Conditions, ReconcilingCondition)
	s.set(StalledCondition, metav1.ConditionTrue, reason, message)
	s.set(ReadyCondition, metav1.ConditionFalse, NotReadyStalledReason, message)
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
