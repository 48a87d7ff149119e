package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SecretOutput stands in status.outputs for the value of a secret output.
const SecretOutput = "[secret]"

// StackStatus is what the operator last saw and did of a Stack.
type StackStatus struct {
	// observedGeneration is the generation that the conditions are about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// observedReconcileRequest is the value of the annotation
	// pulumi.com/reconciliation-request that was seen last.
	ObservedReconcileRequest string `json:"observedReconcileRequest,omitempty"`

	// conditions holds Ready and, while they are true, Reconciling and Stalled.
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// outputs holds the stack's outputs after the last successful update. In
	// place of a secret stands "[secret]".
	Outputs StackOutputs `json:"outputs,omitempty"`

	// lastUpdate is the last update that ended.
	LastUpdate *StackUpdateState `json:"lastUpdate,omitempty"`

	// currentUpdate is the update that is running.
	// +optional
	CurrentUpdate *CurrentStackUpdate `json:"currentUpdate,omitempty"`

	// projectInfo says which stack of which project may hold resources, and is what
	// destroying it takes when the program is gone. It goes when they are destroyed.
	// +optional
	ProjectInfo *ProjectInfo `json:"projectInfo,omitempty"`
}

// StackOutputs holds outputs by name.
type StackOutputs map[string]apiextensionsv1.JSON

// ProjectInfo identifies a Pulumi project, and the stack of it that holds the
// resources.
type ProjectInfo struct {
	// name is the project's name.
	Name string `json:"name"`

	// runtime is the language of its program.
	Runtime string `json:"runtime"`

	// stack is the stack's name when it was last updated. Set by the embedded
	// operator only, which refuses to leave a stack for another.
	// +optional
	Stack string `json:"stack,omitempty"`

	// backend is the address of the backend that holds the stack, without what is
	// secret in it. Set by the embedded operator only.
	// +optional
	Backend string `json:"backend,omitempty"`

	// secretsProvider is what spec.secretsProvider was when the stack was last
	// updated. Set by the embedded operator only.
	// +optional
	SecretsProvider string `json:"secretsProvider,omitempty"`
}

// UpdateType is what an update did.
type UpdateType string

const (
	// PreviewType only showed what would be done.
	PreviewType UpdateType = "preview"

	// UpType created, changed and deleted resources as the program says.
	UpType UpdateType = "up"

	// DestroyType deleted the stack's resources.
	DestroyType UpdateType = "destroy"

	// RefreshType read the actual state of the stack's resources.
	RefreshType UpdateType = "refresh"
)

// StackUpdateStateMessage is how an update ended.
type StackUpdateStateMessage string

const (
	// SucceededStackStateMessage is the state of an update that succeeded.
	SucceededStackStateMessage StackUpdateStateMessage = "succeeded"

	// FailedStackStateMessage is the state of an update that failed.
	FailedStackStateMessage StackUpdateStateMessage = "failed"
)

// StackUpdateState describes an update that ended.
type StackUpdateState struct {
	// generation is the Stack's generation that was applied.
	Generation int64 `json:"generation,omitempty"`

	// reconcileRequest is the request that was answered.
	ReconcileRequest string `json:"reconcileRequest,omitempty"`

	// name identifies the update.
	Name string `json:"name,omitempty"`

	// type is preview, up, refresh or destroy.
	Type UpdateType `json:"type,omitempty"`

	// state is succeeded or failed.
	State StackUpdateStateMessage `json:"state,omitempty"`

	// message says why the update failed, in one line.
	Message string `json:"message,omitempty"`

	// reason is set where a retry cannot mend the failure: TooLarge. The update is
	// tried again after a change or on request. Set by the embedded operator only.
	// +optional
	Reason string `json:"reason,omitempty"`

	// lastAttemptedCommit is the revision of the program that was run.
	LastAttemptedCommit string `json:"lastAttemptedCommit,omitempty"`

	// lastSuccessfulCommit is the revision of the program that last succeeded.
	LastSuccessfulCommit string `json:"lastSuccessfulCommit,omitempty"`

	// inputs identifies the content of the ConfigMaps and Secrets that were used,
	// without giving any of it away. Set by the embedded operator only.
	// +optional
	Inputs string `json:"inputs,omitempty"`

	// permalink is the update's page at a Pulumi service.
	Permalink string `json:"permalink,omitempty"`

	// lastResyncTime is when the update ended.
	LastResyncTime metav1.Time `json:"lastResyncTime,omitempty"`

	// failures counts the failures in a row with the same inputs, after the first.
	Failures int64 `json:"failures,omitempty"`
}

// CurrentStackUpdate describes an update that is running.
type CurrentStackUpdate struct {
	// generation is the Stack's generation that is being applied.
	Generation int64 `json:"generation,omitempty"`

	// reconcileRequest is the request that is being answered.
	ReconcileRequest string `json:"reconcileRequest,omitempty"`

	// name identifies the update.
	Name string `json:"name,omitempty"`

	// commit is the revision of the program that is being run.
	Commit string `json:"commit,omitempty"`

	// inputs identifies the content of the ConfigMaps and Secrets that are used.
	// Set by the embedded operator only.
	// +optional
	Inputs string `json:"inputs,omitempty"`
}
