package v1

// The reasons of the events that the operator writes about a Stack.
const (
	// StackConfigInvalidEvent warns that the Stack cannot be applied as it stands.
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

	// StackUpdateInterruptedEvent warns of a resource whose creation was cut off by
	// the end of the operator or of pulumi: it says whether what is there was taken
	// over, or that somebody has to look for it.
	StackUpdateInterruptedEvent = "StackUpdateInterrupted"

	// StackUpdateConflictEvent warns that another update holds the stack's lock.
	StackUpdateConflictEvent = "StackUpdateConflictDetected"

	// StackDestroySuccessfulEvent says that the stack's resources are destroyed.
	StackDestroySuccessfulEvent = "StackDestroyed"
)
