package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProgramKind is the kind of a [Program].
const ProgramKind = "Program"

// Expression is a value of a Pulumi YAML program: any JSON, in which strings
// may hold ${...} references and objects may hold fn:: calls.
//
// +kubebuilder:object:generate=false
type Expression = apiextensionsv1.JSON

// Program is a Pulumi YAML program. It does nothing by itself: a Stack in the
// same namespace runs it by naming it in spec.programRef.
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

	// program is what Pulumi runs. Its Pulumi project is named as this object.
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
	// configuration declares the config keys that the program reads, which a
	// Stack sets in spec.config. Each has a type, a default, or both.
	// +optional
	Configuration map[string]Configuration `json:"configuration,omitempty"`

	// resources declares the resources to create and keep, by logical name.
	// +optional
	Resources map[string]Resource `json:"resources,omitempty"`

	// variables names intermediate values, for use in more than one place.
	// +optional
	Variables map[string]Expression `json:"variables,omitempty"`

	// outputs names the values that the program exports. They appear in
	// status.outputs of the Stack, secret ones masked.
	// +optional
	Outputs map[string]Expression `json:"outputs,omitempty"`

	// packages names further packages that the program needs, each with its
	// version or address.
	// +optional
	Packages map[string]string `json:"packages,omitempty"`
}

// ConfigType is the type of a config key.
//
// +kubebuilder:validation:Enum={"String","Number","List<Number>","List<String>"}
type ConfigType string

// Configuration declares one config key of a program.
type Configuration struct {
	// type is the type of the value. It may be left out when there is a default.
	// +optional
	Type ConfigType `json:"type,omitempty"`

	// default is the value used when the Stack sets none.
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

	// get reads a resource that exists already instead of creating one. It
	// excludes properties.
	// +optional
	Get *Getter `json:"get,omitempty"`
}

// ResourceOptions says how Pulumi treats a resource.
type ResourceOptions struct {
	// additionalSecretOutputs names outputs to be kept as secrets.
	// +optional
	AdditionalSecretOutputs []string `json:"additionalSecretOutputs,omitempty"`

	// aliases lists names that the resource had before, so that a rename does
	// not replace it.
	// +optional
	Aliases []string `json:"aliases,omitempty"`

	// customTimeouts bounds how long an operation on the resource may take.
	// +optional
	CustomTimeouts *CustomTimeouts `json:"customTimeouts,omitempty"`

	// deleteBeforeReplace deletes the old resource before the new one is made.
	// +optional
	DeleteBeforeReplace bool `json:"deleteBeforeReplace,omitempty"`

	// dependsOn lists resources that must exist first, besides those that the
	// properties refer to.
	// +optional
	DependsOn []Expression `json:"dependsOn,omitempty"`

	// ignoreChanges names properties whose changes are not acted upon.
	// +optional
	IgnoreChanges []string `json:"ignoreChanges,omitempty"`

	// import is the ID of an existing resource that Pulumi takes over.
	// +optional
	Import string `json:"import,omitempty"`

	// parent makes the resource a child of another.
	// +optional
	Parent *Expression `json:"parent,omitempty"`

	// protect refuses to delete the resource.
	// +optional
	Protect bool `json:"protect,omitempty"`

	// provider is the provider resource that manages the resource.
	// +optional
	Provider *Expression `json:"provider,omitempty"`

	// providers gives providers to the children of a component, by package.
	// +optional
	Providers map[string]Expression `json:"providers,omitempty"`

	// version is the version of the provider plugin to use.
	// +optional
	Version string `json:"version,omitempty"`
}

// CustomTimeouts bounds operations on a resource, each as a duration like 5m.
type CustomTimeouts struct {
	// create bounds the creation.
	// +optional
	Create string `json:"create,omitempty"`

	// delete bounds the deletion.
	// +optional
	Delete string `json:"delete,omitempty"`

	// update bounds an update.
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

// ProgramStatus is what the operator last saw of a Program.
type ProgramStatus struct {
	// observedGeneration is the generation that the conditions are about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions holds Ready: True when the program is well formed, False with
	// the place and the reason when it is not; then Stalled is True as well.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// artifact is set by the upstream operator only, which serves programs as
	// archives.
	// +optional
	Artifact *Artifact `json:"artifact,omitempty"`
}

// Artifact describes an archive that holds a program.
type Artifact struct {
	// path is the archive's path in the storage of its server.
	Path string `json:"path"`

	// url is the archive's address.
	URL string `json:"url"`

	// revision identifies the content in its source.
	Revision string `json:"revision"`

	// digest is the archive's digest, as algorithm:checksum.
	// +kubebuilder:validation:Pattern="^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$"
	// +optional
	Digest string `json:"digest,omitempty"`

	// lastUpdateTime is when the archive was made.
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`

	// size is the archive's size in bytes.
	// +optional
	Size *int64 `json:"size,omitempty"`

	// metadata holds annotations of the source.
	// +optional
	Metadata map[string]string `json:"metadata,omitempty"`
}
