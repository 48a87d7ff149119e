package v1

// The reasons of the events that the operator writes about a Stack.
const (
	// StackConfigInvalidEvent warns that the operator cannot apply the Stack's spec.
	StackConfigInvalidEvent = "StackConfigInvalid"

	// StackFieldsNotAppliedEvent warns that fields have no effect under this
	// operator.
	StackFieldsNotAppliedEvent = "StackFieldsNotApplied"

	// StackUpdateDetectedEvent says why an update begins.
	StackUpdateDetectedEvent = "StackUpdateDetected"

	// StackUpdateSuccessfulEvent says that an update succeeded.
	StackUpdateSuccessfulEvent = "StackCreated"

	// StackUpdateFailureEvent warns that an update failed.
	StackUpdateFailureEvent = "StackUpdateFailure"

	// StackUpdateInterruptedEvent warns of a resource whose creation was interrupted when the
	// operator or pulumi ended. The message says whether the stack adopts the object, or that
	// somebody has to check for it.
	StackUpdateInterruptedEvent = "StackUpdateInterrupted"

	// StackUpdateConflictEvent warns that another update holds the stack's lock.
	StackUpdateConflictEvent = "StackUpdateConflictDetected"

	// StackDriftEvent warns that resources differ from what the last update left.
	StackDriftEvent = "StackDrifted"

	// StackDestroySuccessfulEvent says that the stack's resources are destroyed.
	StackDestroySuccessfulEvent = "StackDestroyed"
)
