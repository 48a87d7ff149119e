package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SecretOutput replaces the value of a secret output in status.outputs.
const SecretOutput = "[secret]"

// StackStatus is the last observed status of a Stack.
type StackStatus struct {
	// observedGeneration is the generation that the conditions describe.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// observedReconcileRequest is the last observed value of the annotation
	// pulumi.com/reconciliation-request.
	ObservedReconcileRequest string `json:"observedReconcileRequest,omitempty"`

	// conditions holds Ready, Drifted after a drift check and, while they are true, Reconciling and Stalled.
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// outputs holds the stack's outputs after the last successful update. "[secret]"
	// replaces a secret.
	Outputs StackOutputs `json:"outputs,omitempty"`

	// lastUpdate is the last completed update.
	LastUpdate *StackUpdateState `json:"lastUpdate,omitempty"`

	// currentUpdate is the running update.
	// +optional
	CurrentUpdate *CurrentStackUpdate `json:"currentUpdate,omitempty"`

	// projectInfo identifies the stack and the project that may have resources. A destroy
	// uses it if the program no longer exists. A destroy of all resources removes
	// it.
	// +optional
	ProjectInfo *ProjectInfo `json:"projectInfo,omitempty"`

	// drift is the result of the last drift check: which resources differ from what the last
	// update left. Only the embedded operator sets it.
	// +optional
	Drift *StackDrift `json:"drift,omitempty"`

	// approval says what the Stack waits for, or who approved its last update. Only the
	// embedded operator sets it.
	// +optional
	Approval *StackApproval `json:"approval,omitempty"`
}

// StackDrift is the result of a drift check. A check reads the Stack's resources and changes nothing.
type StackDrift struct {
	// time is the time at which the check ended.
	Time metav1.Time `json:"time"`

	// request is the value of the annotation strata.dev/drift-request that the check served.
	// +optional
	Request string `json:"request,omitempty"`

	// message says why the check failed. Without a message, the check succeeded.
	// +optional
	Message string `json:"message,omitempty"`

	// resources lists the resources that differ, at most 50.
	// +optional
	Resources []DriftedResource `json:"resources,omitempty"`

	// more counts the resources beyond those in resources.
	// +optional
	More int `json:"more,omitempty"`
}

// DriftedResource is a resource that differs from what the last update left.
type DriftedResource struct {
	// name is the resource's name in its program.
	Name string `json:"name"`

	// type is the resource's type.
	Type string `json:"type"`

	// missing says that the resource no longer exists.
	// +optional
	Missing bool `json:"missing,omitempty"`

	// fields lists the fields that differ, at most ten.
	// +optional
	Fields []DriftedField `json:"fields,omitempty"`

	// more counts the fields beyond those in fields.
	// +optional
	More int `json:"more,omitempty"`
}

// DriftedField is a field that differs from what the last update left.
type DriftedField struct {
	// path is the field's path in the resource.
	Path string `json:"path"`

	// wanted is the value of the last update as JSON, cut to 120 characters. It is empty if
	// the field had no value, and "[secret]" for a secret.
	// +optional
	Wanted string `json:"wanted,omitempty"`

	// found is the present value, in the same form.
	// +optional
	Found string `json:"found,omitempty"`
}

// StackOutputs holds outputs by name.
type StackOutputs map[string]apiextensionsv1.JSON

// ProjectInfo identifies a Pulumi project, and the stack in it that has the resources.
type ProjectInfo struct {
	// name is the project's name.
	Name string `json:"name"`

	// runtime is the language of the project's program.
	Runtime string `json:"runtime"`

	// stack is the stack's name at the last update. Only the embedded operator sets it,
	// and rejects a spec that would leave this stack for another one.
	// +optional
	Stack string `json:"stack,omitempty"`

	// backend is the address of the stack's backend, without secrets. Only the embedded
	// operator sets it.
	// +optional
	Backend string `json:"backend,omitempty"`

	// secretsProvider is the value of spec.secretsProvider at the last update. Only the
	// embedded operator sets it.
	// +optional
	SecretsProvider string `json:"secretsProvider,omitempty"`
}

// UpdateType is the operation of an update.
type UpdateType string

const (
	// PreviewType only showed the changes of an up.
	PreviewType UpdateType = "preview"

	// UpType created, changed and deleted resources as the program says.
	UpType UpdateType = "up"

	// DestroyType deleted the stack's resources.
	DestroyType UpdateType = "destroy"

	// RefreshType read the actual state of the stack's resources.
	RefreshType UpdateType = "refresh"
)

// StackUpdateStateMessage is the result of an update.
type StackUpdateStateMessage string

const (
	// SucceededStackStateMessage is the state of an update that succeeded.
	SucceededStackStateMessage StackUpdateStateMessage = "succeeded"

	// FailedStackStateMessage is the state of an update that failed.
	FailedStackStateMessage StackUpdateStateMessage = "failed"
)

// StackUpdateState describes a completed update.
type StackUpdateState struct {
	// generation is the applied generation of the Stack.
	Generation int64 `json:"generation,omitempty"`

	// reconcileRequest is the value of the annotation pulumi.com/reconciliation-request
	// that the update served.
	ReconcileRequest string `json:"reconcileRequest,omitempty"`

	// name identifies the update.
	Name string `json:"name,omitempty"`

	// type is preview, up, refresh or destroy.
	Type UpdateType `json:"type,omitempty"`

	// state is succeeded or failed.
	State StackUpdateStateMessage `json:"state,omitempty"`

	// message is the reason of a failure, in one line.
	Message string `json:"message,omitempty"`

	// reason is TooLarge if a retry would fail again. The operator retries after a change
	// or on request. Only the embedded operator sets it.
	// +optional
	Reason string `json:"reason,omitempty"`

	// lastAttemptedCommit is the revision of the update's program.
	LastAttemptedCommit string `json:"lastAttemptedCommit,omitempty"`

	// lastSuccessfulCommit is the revision of the program of the last successful update.
	LastSuccessfulCommit string `json:"lastSuccessfulCommit,omitempty"`

	// inputs is a digest of the versions of the ConfigMaps and Secrets that the update
	// used. It reveals nothing about their content. Only the embedded operator sets it.
	// +optional
	Inputs string `json:"inputs,omitempty"`

	// approval is "always" if the last successful update demanded an approval of every change,
	// by the annotation strata.dev/approval. Only the embedded operator sets it.
	// +optional
	Approval string `json:"approval,omitempty"`

	// permalink is the update's page at a Pulumi service.
	Permalink string `json:"permalink,omitempty"`

	// lastResyncTime is the time at which the update ended.
	LastResyncTime metav1.Time `json:"lastResyncTime,omitempty"`

	// failures counts the consecutive failures with the same inputs, after the first.
	Failures int64 `json:"failures,omitempty"`
}

// CurrentStackUpdate describes a running update.
type CurrentStackUpdate struct {
	// generation is the generation of the Stack that the update applies.
	Generation int64 `json:"generation,omitempty"`

	// reconcileRequest is the value of the annotation pulumi.com/reconciliation-request
	// that the update serves.
	ReconcileRequest string `json:"reconcileRequest,omitempty"`

	// name identifies the update.
	Name string `json:"name,omitempty"`

	// commit is the revision of the update's program.
	Commit string `json:"commit,omitempty"`

	// inputs is a digest of the versions of the ConfigMaps and Secrets that the update
	// uses. Only the embedded operator sets it.
	// +optional
	Inputs string `json:"inputs,omitempty"`
}
