package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// StackKind is the kind of a [Stack].
	StackKind = "Stack"

	// StackFinalizer keeps a Stack until its resources have been dealt with as
	// spec.destroyOnFinalize says.
	StackFinalizer = "finalizer.stack.pulumi.com"

	// ReconcileRequestAnnotation asks for a run of the Stack now, whenever its
	// value changes. status.observedReconcileRequest repeats the value seen last.
	ReconcileRequestAnnotation = "pulumi.com/reconciliation-request"
)

// Stack is an instance of a Pulumi program that the operator keeps up to date:
// it runs the program whenever the Stack or the program changes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=stk,categories=pulumi
// +kubebuilder:printcolumn:name="Stack",type="string",priority=10,JSONPath=".spec.stack"
// +kubebuilder:printcolumn:name="Last Update",type="string",JSONPath=".status.lastUpdate.state"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".status.lastUpdate.lastResyncTime"
// +kubebuilder:printcolumn:name="Last Commit",type="string",priority=10,JSONPath=".status.lastUpdate.lastAttemptedCommit"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reconciling",type="string",JSONPath=`.status.conditions[?(@.type=="Reconciling")].reason`
// +kubebuilder:printcolumn:name="Stalled",type="string",JSONPath=`.status.conditions[?(@.type=="Stalled")].reason`
// +kubebuilder:printcolumn:name="Permalink",type="string",JSONPath=".status.lastUpdate.permalink"
// +kubebuilder:printcolumn:name="Status",type="string",priority=10,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 42",message="Stack name must be no more than 42 characters in length."
type Stack struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   StackSpec   `json:"spec,omitempty"`
	Status StackStatus `json:"status,omitempty"`
}

// StackList is a list of Stacks.
//
// +kubebuilder:object:root=true
type StackList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Stack `json:"items"`
}

// StackSpec says what to run, as whom, with what configuration and when.
type StackSpec struct {
	// stack is the name of the Pulumi stack, optionally qualified by its
	// organization: <org>/<stack>. Once the stack may hold resources the embedded
	// operator refuses another name, another project or another backend, which would
	// leave the resources behind.
	Stack string `json:"stack"`

	// backend is the address of the state backend, for example
	// https://app.pulumi.com, gs://bucket or file:///path. Without it,
	// PULUMI_BACKEND_URL of envRefs counts.
	Backend string `json:"backend,omitempty"`

	// secretsProvider encrypts the stack's secrets, anew when it is changed, for
	// example
	// gcpkms://projects/P/locations/L/keyRings/R/cryptoKeys/K. Without it, the
	// backend's default counts, which is PULUMI_CONFIG_PASSPHRASE on a backend
	// that is not a Pulumi service.
	SecretsProvider string `json:"secretsProvider,omitempty"`

	// serviceAccountName is the Kubernetes identity of the run: a service account
	// in the Stack's namespace, default when left out.
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// envRefs sets environment variables of the run, each from a Secret in the
	// Stack's namespace or from a literal.
	EnvRefs map[string]ResourceRef `json:"envRefs,omitempty"`

	// envs lists ConfigMaps all of whose keys become environment variables.
	// Kept for old manifests: use envRefs.
	Envs []string `json:"envs,omitempty"`

	// envSecrets lists Secrets all of whose keys become environment variables.
	// Kept for old manifests: use envRefs.
	SecretEnvs []string `json:"envSecrets,omitempty"`

	// accessTokenSecret names the Secret whose key accessToken is the token for a
	// Pulumi service.
	// Kept for old manifests: use envRefs with PULUMI_ACCESS_TOKEN.
	AccessTokenSecret string `json:"accessTokenSecret,omitempty"`

	// config sets config keys of the program: strings, numbers, booleans, lists
	// or objects. A key without a namespace belongs to the program's project.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Config map[string]apiextensionsv1.JSON `json:"config,omitempty"`

	// configRef sets config keys from ConfigMaps in the Stack's namespace. It
	// wins over config.
	// +optional
	ConfigRef map[string]ConfigMapRef `json:"configRef,omitempty"`

	// secrets sets secret config keys.
	// Kept for old manifests, its values can be read here: use secretsRef.
	Secrets map[string]string `json:"secrets,omitempty"`

	// secretsRef sets secret config keys, each from a Secret in the Stack's
	// namespace or from a literal. It wins over config, configRef and secrets.
	SecretRefs map[string]ResourceRef `json:"secretsRef,omitempty"`

	// environment lists the Pulumi ESC environments to import. The embedded operator
	// refuses it.
	// +listType=atomic
	// +optional
	Environment []string `json:"environment,omitempty"`

	// GitSource takes the program from a git repository. It excludes fluxSource
	// and programRef.
	GitSource `json:",inline"`

	// fluxSource takes the program from a Flux source. It excludes projectRepo
	// and programRef.
	// +optional
	FluxSource *FluxSource `json:"fluxSource,omitempty"`

	// programRef takes the program from a Program in the Stack's namespace. It
	// excludes projectRepo and fluxSource.
	ProgramRef *ProgramReference `json:"programRef,omitempty"`

	// prerequisites lists Stacks that must have succeeded before this one runs. They
	// do not count when it is deleted.
	Prerequisites []PrerequisiteRef `json:"prerequisites,omitempty"`

	// targets limits updates to the resources with these URNs.
	Targets []string `json:"targets,omitempty"`

	// targetDependents extends targets to the resources that depend on them.
	TargetDependents bool `json:"targetDependents,omitempty"`

	// refresh reads the actual state of all resources before an update.
	Refresh bool `json:"refresh,omitempty"`

	// expectNoRefreshChanges fails the update when the refresh finds a change.
	ExpectNoRefreshChanges bool `json:"expectNoRefreshChanges,omitempty"`

	// preview only previews: the stack's resources are never changed.
	// +optional
	Preview bool `json:"preview,omitempty"`

	// continueResyncOnCommitMatch runs the program again every
	// resyncFrequencySeconds even when nothing has changed.
	ContinueResyncOnCommitMatch bool `json:"continueResyncOnCommitMatch,omitempty"`

	// resyncFrequencySeconds is how often continueResyncOnCommitMatch runs the
	// program and how often a git branch is polled; at least and by default 60.
	ResyncFrequencySeconds int64 `json:"resyncFrequencySeconds,omitempty"`

	// destroyOnFinalize destroys the stack's resources when this object is
	// deleted, before it goes. Without it, or with preview, they are left as they
	// are.
	DestroyOnFinalize bool `json:"destroyOnFinalize,omitempty"`

	// runProgram runs the program when destroying, for what it sets up, for
	// example the credentials of a provider. Where the program is gone the embedded
	// operator destroys without it.
	RunProgram bool `json:"runProgram,omitempty"`

	// retryOnUpdateConflict treats another update that holds the stack's lock as
	// something that passes: the waits before it is tried again do not grow. Without
	// it the Stack counts as stalled, and they do.
	RetryOnUpdateConflict bool `json:"retryOnUpdateConflict,omitempty"`

	// retryMaxBackoffDurationSeconds is the longest wait before a failed update
	// is tried again. The waits double from a few seconds; without this field the
	// longest is 5 minutes, and a day under the upstream operator.
	// +optional
	RetryMaxBackoffDurationSeconds int64 `json:"retryMaxBackoffDurationSeconds,omitempty"`

	// useLocalStackOnly fails when the stack does not exist in the backend
	// instead of creating it.
	UseLocalStackOnly bool `json:"useLocalStackOnly,omitempty"`

	// workspaceTemplate shapes the workspace that the upstream operator runs the
	// program in. Of its fields the embedded operator takes serviceAccountName, env,
	// envFrom and the labels.
	// +optional
	WorkspaceTemplate *WorkspaceTemplate `json:"workspaceTemplate,omitempty"`

	// workspaceReclaimPolicy says whether the workspace is kept after a
	// successful update; Retain by default. The embedded operator has no workspace:
	// it always removes a run's folder.
	// +optional
	WorkspaceReclaimPolicy WorkspaceReclaimPolicy `json:"workspaceReclaimPolicy,omitempty"`

	// updateTemplate shapes the Update objects of the upstream operator, and the
	// updates of both.
	// +optional
	UpdateTemplate *UpdateTemplate `json:"updateTemplate,omitempty"`
}

// ServiceAccount returns the name of the service account, in the Stack's namespace,
// that its runs act as.
func (s *Stack) ServiceAccount() string {
	if t := s.Spec.WorkspaceTemplate; t != nil && t.Spec != nil && t.Spec.ServiceAccountName != nil && *t.Spec.ServiceAccountName != "" {
		return *t.Spec.ServiceAccountName
	}
	if s.Spec.ServiceAccountName != "" {
		return s.Spec.ServiceAccountName
	}
	return "default"
}

// WorkspaceReclaimPolicy says what becomes of a workspace after an update.
//
// +kubebuilder:validation:Enum=Retain;Delete
// +kubebuilder:default=Retain
type WorkspaceReclaimPolicy string

const (
	// WorkspaceReclaimRetain keeps the workspace.
	WorkspaceReclaimRetain WorkspaceReclaimPolicy = "Retain"

	// WorkspaceReclaimDelete deletes the workspace.
	WorkspaceReclaimDelete WorkspaceReclaimPolicy = "Delete"
)
