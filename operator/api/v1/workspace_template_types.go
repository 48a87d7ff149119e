package v1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// WorkspaceTemplate overrides fields of the Workspace object in which the upstream operator runs a Stack.
type WorkspaceTemplate struct {
	// apiVersion is the API version of a Workspace.
	APIVersion *string `json:"apiVersion,omitempty"`

	// kind is the kind of a Workspace.
	Kind *string `json:"kind,omitempty"`

	// metadata holds labels and annotations of the Workspace. The embedded operator
	// creates one object for a Stack: the Secret in its own namespace with the data for
	// a destroy. It sets each label on that Secret, with the key
	// workspace.strata.dev/NAME. NAME is the part of the label's key after the '/'.
	Metadata *TemplateMeta `json:"metadata,omitempty"`

	// spec is the Workspace's spec.
	Spec *WorkspaceTemplateSpec `json:"spec,omitempty"`

	// status has no effect.
	Status *WorkspaceTemplateStatus `json:"status,omitempty"`
}

// WorkspaceTemplateStatus has no effect. The API accepts it so that a template can be a copy of a whole Workspace.
type WorkspaceTemplateStatus struct {
	// observedGeneration has no effect.
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// address has no effect.
	Address *string `json:"address,omitempty"`

	// pulumiVersion has no effect.
	PulumiVersion *string `json:"pulumiVersion,omitempty"`

	// conditions has no effect.
	Conditions []TemplateCondition `json:"conditions,omitempty"`
}

// WorkspaceTemplateSpec overrides fields of a Workspace's spec.
type WorkspaceTemplateSpec struct {
	// serviceAccountName is the Kubernetes identity of the run. It takes precedence over
	// spec.serviceAccountName of the Stack.
	ServiceAccountName *string `json:"serviceAccountName,omitempty"`

	// securityProfile is baseline or restricted. It has no effect under the embedded
	// operator, which creates no pod.
	SecurityProfile *string `json:"securityProfile,omitempty"`

	// image is the container image with the pulumi command. It has no effect
	// under the embedded operator.
	Image *string `json:"image,omitempty"`

	// imagePullPolicy says when the image is pulled. It has no effect under the
	// embedded operator.
	ImagePullPolicy *corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// git takes the program from a Git repository. The embedded operator rejects it:
	// use spec.projectRepo.
	Git *WorkspaceGitSource `json:"git,omitempty"`

	// flux takes the program from an archive. The embedded operator rejects it: use
	// spec.fluxSource.
	Flux *WorkspaceFluxSource `json:"flux,omitempty"`

	// local takes the program from the image. The embedded operator rejects it.
	Local *WorkspaceLocalSource `json:"local,omitempty"`

	// projectInfo gives the name and the runtime of a project without a program. The
	// embedded operator rejects it.
	ProjectInfo *WorkspaceProjectInfo `json:"projectInfo,omitempty"`

	// envFrom sets environment variables from whole ConfigMaps and Secrets.
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// env sets environment variables. It takes precedence over all other fields that set
	// them. The embedded operator accepts metadata.namespace as the only fieldRef, and
	// rejects resourceFieldRef and fileKeyRef.
	Env []corev1.EnvVar `json:"env,omitempty"`

	// resources limits the pod's compute resources. It has no effect under the
	// embedded operator.
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// podTemplate overrides fields of the pod. It has no effect under the embedded operator.
	PodTemplate *EmbeddedPodTemplate `json:"podTemplate,omitempty"`

	// serviceTemplate overrides fields of the pod's service. It has no effect under
	// the embedded operator.
	ServiceTemplate *EmbeddedServiceTemplate `json:"serviceTemplate,omitempty"`

	// pulumiLogLevel is the verbosity of the pulumi command's log. It has no effect
	// under the embedded operator, because its log would contain secrets of other teams.
	PulumiLogLevel *int32 `json:"pulumiLogLevel,omitempty"`

	// stacks lists further stacks and their settings. The embedded operator rejects it,
	// because it runs spec.stack only.
	Stacks []WorkspaceStack `json:"stacks,omitempty"`
}

// WorkspaceGitSource is a program in a Git repository.
type WorkspaceGitSource struct {
	// url is the repository's address.
	URL *string `json:"url,omitempty"`

	// ref is the branch, tag or commit.
	Ref *string `json:"ref,omitempty"`

	// dir is the folder that contains Pulumi.yaml.
	Dir *string `json:"dir,omitempty"`

	// auth holds the credentials for the repository.
	Auth *WorkspaceGitAuth `json:"auth,omitempty"`

	// shallow fetches one commit without its history.
	Shallow *bool `json:"shallow,omitempty"`
}

// WorkspaceGitAuth holds credentials for a Git repository.
type WorkspaceGitAuth struct {
	// sshPrivateKey is an SSH key.
	SSHPrivateKey *corev1.SecretKeySelector `json:"sshPrivateKey,omitempty"`

	// username is the name of the user.
	Username *corev1.SecretKeySelector `json:"username,omitempty"`

	// password is the password of the user or of the SSH key.
	Password *corev1.SecretKeySelector `json:"password,omitempty"`

	// token is a personal access token.
	Token *corev1.SecretKeySelector `json:"token,omitempty"`

	// githubApp identifies an installation of a GitHub App.
	GitHubApp *WorkspaceGitHubApp `json:"githubApp,omitempty"`
}

// WorkspaceGitHubApp identifies an installation of a GitHub App.
type WorkspaceGitHubApp struct {
	// appID is the number of the app.
	AppID *corev1.SecretKeySelector `json:"appID,omitempty"`

	// installationID is the number of the installation.
	InstallationID *corev1.SecretKeySelector `json:"installationID,omitempty"`

	// privateKey is the app's RSA key in PEM.
	PrivateKey *corev1.SecretKeySelector `json:"privateKey,omitempty"`
}

// WorkspaceFluxSource is a program in an archive.
type WorkspaceFluxSource struct {
	// url is the archive's address.
	URL *string `json:"url,omitempty"`

	// digest is the archive's digest.
	Digest *string `json:"digest,omitempty"`

	// dir is the folder that contains Pulumi.yaml.
	Dir *string `json:"dir,omitempty"`
}

// WorkspaceLocalSource is a program in the image.
type WorkspaceLocalSource struct {
	// dir is the folder that contains Pulumi.yaml.
	Dir *string `json:"dir,omitempty"`
}

// WorkspaceProjectInfo identifies the project of a run without a program.
type WorkspaceProjectInfo struct {
	// name is the name of the Pulumi project.
	Name *string `json:"name,omitempty"`

	// runtime is the program's language.
	Runtime *string `json:"runtime,omitempty"`
}

// WorkspaceStack holds settings of one stack of a Workspace.
type WorkspaceStack struct {
	// name is the stack's name.
	Name *string `json:"name,omitempty"`

	// create creates the stack if it does not exist.
	Create *bool `json:"create,omitempty"`

	// secretsProvider encrypts the stack's secrets.
	SecretsProvider *string `json:"secretsProvider,omitempty"`

	// config sets config keys.
	Config []WorkspaceConfigItem `json:"config,omitempty"`

	// environment lists the Pulumi ESC environments to import.
	Environment []string `json:"environment,omitempty"`
}

// WorkspaceConfigItem sets one config key.
type WorkspaceConfigItem struct {
	// key is the config key, or the path of one.
	Key *string `json:"key,omitempty"`

	// path says that key is a path.
	Path *bool `json:"path,omitempty"`

	// value is the value.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Value *apiextensionsv1.JSON `json:"value,omitempty"`

	// valueFrom takes the value from an environment variable or a file.
	ValueFrom *WorkspaceConfigSource `json:"valueFrom,omitempty"`

	// secret encrypts the value.
	Secret *bool `json:"secret,omitempty"`
}

// WorkspaceConfigSource is the source of a config value.
type WorkspaceConfigSource struct {
	// env is an environment variable of the workspace.
	Env *string `json:"env,omitempty"`

	// path is a file of the workspace.
	Path *string `json:"path,omitempty"`

	// json parses the value as JSON.
	JSON *bool `json:"json,omitempty"`
}
