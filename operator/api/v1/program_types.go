package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProgramKind is the kind of a [Program].
const ProgramKind = "Program"

// Expression is a value of a Pulumi YAML program: any JSON. Its strings may contain ${...} references, and its objects may
// contain fn:: calls.
//
// +kubebuilder:object:generate=false
type Expression = apiextensionsv1.JSON

// Program is a Pulumi YAML program. A Stack in the same namespace that refers to it in spec.programRef runs it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:categories=pulumi
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type="string",priority=10,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Program struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// program is the content of the program. Its Pulumi project has the name of this object.
	Program ProgramSpec `json:"program,omitempty"`

	Status ProgramStatus `json:"status,omitempty"`
}

// ProgramList is a list of Programs.
//
// +kubebuilder:object:root=true
type ProgramList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Program `json:"items"`
}

// ProgramSpec is the body of a Pulumi YAML program.
type ProgramSpec struct {
	// configuration declares the config keys that the program reads. A Stack sets
	// them in spec.config. Each key has a type, a default, or both.
	// +optional
	Configuration map[string]Configuration `json:"configuration,omitempty"`

	// resources declares the resources by logical name.
	// +optional
	Resources map[string]Resource `json:"resources,omitempty"`

	// variables declares intermediate values by name.
	// +optional
	Variables map[string]Expression `json:"variables,omitempty"`

	// outputs declares the values that the program exports, by name. status.outputs
	// of the Stack shows them, and masks secrets.
	// +optional
	Outputs map[string]Expression `json:"outputs,omitempty"`

	// packages maps the names of further packages to their versions or addresses.
	// +optional
	Packages map[string]string `json:"packages,omitempty"`
}

// ConfigType is the type of a config key.
//
// +kubebuilder:validation:Enum={"String","Number","List<Number>","List<String>"}
type ConfigType string

// Configuration declares one config key of a program.
type Configuration struct {
	// type is the type of the value. It is optional if there is a default.
	// +optional
	Type ConfigType `json:"type,omitempty"`

	// default is the value if the Stack sets none.
	// +optional
	Default *apiextensionsv1.JSON `json:"default,omitempty"`
}

// Resource declares one resource of a program.
type Resource struct {
	// type is the resource's type token, for example gcp:sql:Database.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:MinLength:=1
	Type string `json:"type"`

	// properties holds the resource's inputs.
	// +optional
	Properties map[string]Expression `json:"properties,omitempty"`

	// options says how Pulumi treats the resource.
	// +optional
	Options *ResourceOptions `json:"options,omitempty"`

	// get reads an existing resource instead of creating one. It excludes
	// properties.
	// +optional
	Get *Getter `json:"get,omitempty"`
}

// ResourceOptions says how Pulumi treats a resource.
type ResourceOptions struct {
	// additionalSecretOutputs lists outputs that Pulumi treats as secrets.
	// +optional
	AdditionalSecretOutputs []string `json:"additionalSecretOutputs,omitempty"`

	// aliases lists former names of the resource, so that a rename does not
	// replace it.
	// +optional
	Aliases []string `json:"aliases,omitempty"`

	// customTimeouts sets time limits for operations on the resource.
	// +optional
	CustomTimeouts *CustomTimeouts `json:"customTimeouts,omitempty"`

	// deleteBeforeReplace deletes the old resource before it creates the new one.
	// +optional
	DeleteBeforeReplace bool `json:"deleteBeforeReplace,omitempty"`

	// dependsOn lists resources that must exist first, in addition to those that
	// the properties refer to.
	// +optional
	DependsOn []Expression `json:"dependsOn,omitempty"`

	// ignoreChanges lists properties whose changes Pulumi ignores.
	// +optional
	IgnoreChanges []string `json:"ignoreChanges,omitempty"`

	// import is the ID of an existing resource that Pulumi adopts.
	// +optional
	Import string `json:"import,omitempty"`

	// parent is the resource's parent resource.
	// +optional
	Parent *Expression `json:"parent,omitempty"`

	// protect prevents the deletion of the resource.
	// +optional
	Protect bool `json:"protect,omitempty"`

	// provider is the provider resource that manages the resource.
	// +optional
	Provider *Expression `json:"provider,omitempty"`

	// providers maps packages to providers for the children of a component.
	// +optional
	Providers map[string]Expression `json:"providers,omitempty"`

	// version is the version of the provider plugin.
	// +optional
	Version string `json:"version,omitempty"`
}

// CustomTimeouts sets time limits for operations on a resource, each as a duration such as 5m.
type CustomTimeouts struct {
	// create is the time limit of the creation.
	// +optional
	Create string `json:"create,omitempty"`

	// delete is the time limit of the deletion.
	// +optional
	Delete string `json:"delete,omitempty"`

	// update is the time limit of an update.
	// +optional
	Update string `json:"update,omitempty"`
}

// Getter identifies an existing resource to read.
type Getter struct {
	// id is the resource's ID in its provider.
	// +kubebuilder:validation:Required
	// +kubebuilder:validation:MinLength:=1
	ID string `json:"id"`

	// state holds known properties that help the provider to find the resource.
	// +optional
	State map[string]Expression `json:"state,omitempty"`
}

// ProgramStatus is the last observed status of a Program.
type ProgramStatus struct {
	// observedGeneration is the generation that the conditions describe.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions holds Ready, which is True if the program is well formed. Otherwise
	// Ready is False, Stalled is True, and the message names the place and the fault.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// artifact is the archive in which the upstream operator serves the program. The
	// embedded operator does not set it.
	// +optional
	Artifact *Artifact `json:"artifact,omitempty"`
}

// Artifact describes an archive that contains a program.
type Artifact struct {
	// path is the archive's path on its server.
	Path string `json:"path"`

	// url is the archive's address.
	URL string `json:"url"`

	// revision identifies the content in its source.
	Revision string `json:"revision"`

	// digest is the archive's digest, in the form ALGORITHM:CHECKSUM.
	// +kubebuilder:validation:Pattern="^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$"
	// +optional
	Digest string `json:"digest,omitempty"`

	// lastUpdateTime is the time of the archive's creation.
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`

	// size is the archive's size in bytes.
	// +optional
	Size *int64 `json:"size,omitempty"`

	// metadata holds annotations of the source.
	// +optional
	Metadata map[string]string `json:"metadata,omitempty"`
}
