package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// StackKind is the kind of a [Stack].
	StackKind = "Stack"

	// StackFinalizer keeps a deleted Stack until the operator has destroyed or released its
	// resources, as spec.destroyOnFinalize says.
	StackFinalizer = "finalizer.stack.pulumi.com"

	// ReconcileRequestAnnotation requests a run of the Stack whenever its value changes.
	// status.observedReconcileRequest repeats the last observed value.
	ReconcileRequestAnnotation = "pulumi.com/reconciliation-request"

	// DriftRequestAnnotation requests a drift check of the Stack whenever its value changes. status.drift.request repeats the
	// value that the last check served. Only the embedded operator reads it.
	DriftRequestAnnotation = "strata.dev/drift-request"
)

// Stack is an instance of a Pulumi program. The operator runs the program whenever the Stack or the program changes.
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

// StackSpec describes the program of a Stack, its identity, its config and when it runs.
type StackSpec struct {
	// stack is the name of the Pulumi stack, optionally qualified by its
	// organization: <org>/<stack>. Once the stack may have resources, the embedded
	// operator rejects another name, another project or another backend, because the
	// change would leave the resources behind. In a team's namespace it may be missing:
	// the platform fills in the Stack's own name.
	Stack string `json:"stack"`

	// backend is the address of the state backend, for example
	// https://app.pulumi.com, gs://bucket or file:///path. The default is
	// PULUMI_BACKEND_URL in envRefs.
	Backend string `json:"backend,omitempty"`

	// secretsProvider is the provider that encrypts the stack's secrets, for example
	// gcpkms://projects/P/locations/L/keyRings/R/cryptoKeys/K. A change reencrypts
	// the secrets. The default is that of the backend, which is
	// PULUMI_CONFIG_PASSPHRASE unless the backend is a Pulumi service.
	SecretsProvider string `json:"secretsProvider,omitempty"`

	// serviceAccountName is the Kubernetes identity of the run: a service account
	// in the Stack's namespace. The default is the service account default. In a team's
	// namespace the platform fills in the team's account.
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// envRefs sets environment variables of the run, each from a Secret in the
	// Stack's namespace or from a literal. In a team's namespace the platform adds the
	// keys of the Secret strata-context that are missing: backend, passphrase, Google
	// identity, project and region.
	EnvRefs map[string]ResourceRef `json:"envRefs,omitempty"`

	// envs lists ConfigMaps. Each key becomes an environment variable.
	//
	// Deprecated: use envRefs.
	Envs []string `json:"envs,omitempty"`

	// envSecrets lists Secrets. Each key becomes an environment variable.
	//
	// Deprecated: use envRefs.
	SecretEnvs []string `json:"envSecrets,omitempty"`

	// accessTokenSecret is the name of a Secret. Its key accessToken contains the token
	// for a Pulumi service.
	//
	// Deprecated: use envRefs with PULUMI_ACCESS_TOKEN.
	AccessTokenSecret string `json:"accessTokenSecret,omitempty"`

	// config sets config keys of the program: strings, numbers, booleans, lists
	// or objects. A key without a namespace belongs to the program's project.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Config map[string]apiextensionsv1.JSON `json:"config,omitempty"`

	// configRef sets config keys from ConfigMaps in the Stack's namespace. It
	// takes precedence over config. In a team's namespace the platform adds
	// platform:instance, the Cloud SQL instance, if the Stack does not set this key.
	// +optional
	ConfigRef map[string]ConfigMapRef `json:"configRef,omitempty"`

	// secrets sets secret config keys. Its values are readable in this object.
	//
	// Deprecated: use secretsRef.
	Secrets map[string]string `json:"secrets,omitempty"`

	// secretsRef sets secret config keys, each from a Secret in the Stack's
	// namespace or from a literal. It takes precedence over config, configRef and
	// secrets.
	SecretRefs map[string]ResourceRef `json:"secretsRef,omitempty"`

	// environment lists the Pulumi ESC environments to import. The embedded operator
	// rejects it.
	// +listType=atomic
	// +optional
	Environment []string `json:"environment,omitempty"`

	// GitSource takes the program from a Git repository. It excludes fluxSource
	// and programRef.
	GitSource `json:",inline"`

	// fluxSource takes the program from a Flux source. It excludes projectRepo
	// and programRef.
	// +optional
	FluxSource *FluxSource `json:"fluxSource,omitempty"`

	// programRef takes the program from a Program in the Stack's namespace. It
	// excludes projectRepo and fluxSource.
	ProgramRef *ProgramReference `json:"programRef,omitempty"`

	// prerequisites lists Stacks that must have succeeded before this Stack runs. The
	// deletion of this Stack ignores them.
	Prerequisites []PrerequisiteRef `json:"prerequisites,omitempty"`

	// targets limits updates to the resources with these URNs.
	Targets []string `json:"targets,omitempty"`

	// targetDependents extends targets to the resources that depend on them.
	TargetDependents bool `json:"targetDependents,omitempty"`

	// refresh reads the actual state of all resources before an update.
	Refresh bool `json:"refresh,omitempty"`

	// expectNoRefreshChanges makes the update fail if the refresh finds a change.
	ExpectNoRefreshChanges bool `json:"expectNoRefreshChanges,omitempty"`

	// preview makes every run a preview, which never changes the stack's resources.
	// +optional
	Preview bool `json:"preview,omitempty"`

	// continueResyncOnCommitMatch runs the program again every
	// resyncFrequencySeconds even if nothing has changed.
	ContinueResyncOnCommitMatch bool `json:"continueResyncOnCommitMatch,omitempty"`

	// resyncFrequencySeconds is the interval of the runs of
	// continueResyncOnCommitMatch, and of the checks of a Git branch, in seconds. The
	// minimum and the default are 60.
	ResyncFrequencySeconds int64 `json:"resyncFrequencySeconds,omitempty"`

	// destroyOnFinalize destroys the stack's resources before a deletion of this object
	// completes. Without destroyOnFinalize, or with preview, the resources stay. In a
	// team's namespace the platform sets it for a new Stack that does not say anything.
	DestroyOnFinalize bool `json:"destroyOnFinalize,omitempty"`

	// runProgram runs the program for a destroy, for example because the program sets
	// the credentials of a provider. If the program does not exist, the embedded
	// operator destroys without it.
	RunProgram bool `json:"runProgram,omitempty"`

	// retryOnUpdateConflict makes the operator retry without growing waits while another
	// update holds the stack's lock. By default the Stack is stalled then, and the waits
	// grow.
	RetryOnUpdateConflict bool `json:"retryOnUpdateConflict,omitempty"`

	// retryMaxBackoffDurationSeconds is the longest wait before the operator retries a
	// failed update, in seconds. The waits begin with a few seconds and double. The
	// default is 5 minutes under the embedded operator, and a day under the upstream
	// operator.
	// +optional
	RetryMaxBackoffDurationSeconds int64 `json:"retryMaxBackoffDurationSeconds,omitempty"`

	// useLocalStackOnly makes a run fail if the backend does not have the stack, instead
	// of creating the stack.
	UseLocalStackOnly bool `json:"useLocalStackOnly,omitempty"`

	// workspaceTemplate configures the workspace in which the upstream operator runs the
	// program. The embedded operator uses only serviceAccountName, env, envFrom and the
	// labels.
	// +optional
	WorkspaceTemplate *WorkspaceTemplate `json:"workspaceTemplate,omitempty"`

	// workspaceReclaimPolicy says whether the workspace stays after a successful update.
	// The default is Retain. The embedded operator has no workspace, and always removes
	// a run's folder.
	// +optional
	WorkspaceReclaimPolicy WorkspaceReclaimPolicy `json:"workspaceReclaimPolicy,omitempty"`

	// updateTemplate configures the updates, and the Update objects of the upstream
	// operator.
	// +optional
	UpdateTemplate *UpdateTemplate `json:"updateTemplate,omitempty"`
}

// ServiceAccount returns the name of the service account of the Stack's runs, in the Stack's namespace.
func (s *Stack) ServiceAccount() string {
	if t := s.Spec.WorkspaceTemplate; t != nil && t.Spec != nil && t.Spec.ServiceAccountName != nil && *t.Spec.ServiceAccountName != "" {
		return *t.Spec.ServiceAccountName
	}
	if s.Spec.ServiceAccountName != "" {
		return s.Spec.ServiceAccountName
	}
	return "default"
}

// WorkspaceReclaimPolicy says whether a workspace stays after an update.
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
