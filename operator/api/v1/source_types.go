package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GitSource identifies a program in a Git repository.
type GitSource struct {
	// projectRepo is the address of the Git repository.
	// +optional
	ProjectRepo string `json:"projectRepo,omitempty"`

	// repoDir is the folder of the repository that contains Pulumi.yaml. The default
	// is the root.
	RepoDir string `json:"repoDir,omitempty"`

	// commit is the hash of the commit to run. It excludes branch.
	Commit string `json:"commit,omitempty"`

	// branch is the short or full name of the branch to follow. It excludes
	// commit.
	Branch string `json:"branch,omitempty"`

	// shallow fetches the commit without its history.
	Shallow bool `json:"shallow,omitempty"`

	// gitAuth holds the credentials for the repository. It excludes
	// gitAuthSecret.
	GitAuth *GitAuthConfig `json:"gitAuth,omitempty"`

	// gitAuthSecret is the name of a Secret with the credentials for the repository:
	// sshPrivateKey with password, accessToken, or username with password.
	//
	// Deprecated: use gitAuth.
	GitAuthSecret string `json:"gitAuthSecret,omitempty"`
}

// GitAuthConfig holds credentials for a Git repository, in one of four forms.
type GitAuthConfig struct {
	// accessToken is a personal access token.
	PersonalAccessToken *ResourceRef `json:"accessToken,omitempty"`

	// sshAuth is an SSH key.
	SSHAuth *SSHAuth `json:"sshAuth,omitempty"`

	// basicAuth is a user name and a password.
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`

	// githubApp is a GitHub App. The operator exchanges its key for a short-lived token.
	GitHubApp *GitHubAppAuth `json:"githubApp,omitempty"`
}

// SSHAuth is an SSH key and its password.
type SSHAuth struct {
	// sshPrivateKey is the private key.
	SSHPrivateKey ResourceRef `json:"sshPrivateKey"`

	// password decrypts the private key.
	Password *ResourceRef `json:"password,omitempty"`
}

// BasicAuth is a user name and a password.
type BasicAuth struct {
	// userName is the name of the user.
	UserName ResourceRef `json:"userName"`

	// password is the user's password.
	Password ResourceRef `json:"password"`
}

// GitHubAppAuth identifies an installation of a GitHub App.
type GitHubAppAuth struct {
	// appID is the number of the app.
	AppID ResourceRef `json:"appID"`

	// installationID is the number of the installation.
	InstallationID ResourceRef `json:"installationID"`

	// privateKey is the app's RSA key in PEM.
	PrivateKey ResourceRef `json:"privateKey"`
}

// FluxSource identifies a program in a Flux source.
type FluxSource struct {
	// sourceRef identifies the source in the Stack's namespace.
	SourceRef FluxSourceReference `json:"sourceRef"`

	// dir is the folder of the source that contains Pulumi.yaml. The default is the
	// root.
	// +optional
	Dir string `json:"dir,omitempty"`
}

// FluxSourceReference identifies a Flux source.
type FluxSourceReference struct {
	// apiVersion is the source's API version, for example
	// source.toolkit.fluxcd.io/v1.
	APIVersion string `json:"apiVersion"`

	// kind is the source's kind, for example GitRepository.
	Kind string `json:"kind"`

	// name is the source's name.
	Name string `json:"name"`
}

// ProgramReference identifies a Program in the Stack's namespace.
type ProgramReference struct {
	// name is the Program's name.
	// +kubebuilder:validation:Required
	Name string `json:"name"`
}

// PrerequisiteRef identifies a Stack that has to succeed first.
type PrerequisiteRef struct {
	// name is the name of a Stack in the same namespace.
	Name string `json:"name"`

	// requirement restricts when the success of the Stack counts.
	Requirement *RequirementSpec `json:"requirement,omitempty"`
}

// RequirementSpec restricts when a prerequisite is satisfied.
type RequirementSpec struct {
	// succeededWithinDuration is the maximum age of the success, for example 1h. If the
	// success is older, the operator requests a new run of the Stack.
	SucceededWithinDuration *metav1.Duration `json:"succeededWithinDuration,omitempty"`
}

// ResourceSelectorType is the kind of source of a [ResourceRef].
type ResourceSelectorType string

const (
	// ResourceSelectorSecret takes a key of a Secret in the Stack's namespace.
	ResourceSelectorSecret ResourceSelectorType = "Secret"

	// ResourceSelectorLiteral takes a literal value.
	ResourceSelectorLiteral ResourceSelectorType = "Literal"

	// ResourceSelectorEnv takes a variable of the environment. The embedded operator
	// rejects it.
	ResourceSelectorEnv ResourceSelectorType = "Env"

	// ResourceSelectorFS takes a file. The embedded operator rejects it.
	ResourceSelectorFS ResourceSelectorType = "FS"
)

// ResourceRef is a reference to a value.
type ResourceRef struct {
	// type is Secret or Literal. The embedded operator rejects Env and FS, which would
	// read its own environment and files.
	Type ResourceSelectorType `json:"type"`

	// secret identifies the value if type is Secret.
	Secret *SecretSelector `json:"secret,omitempty"`

	// literal is the value if type is Literal.
	Literal *LiteralRef `json:"literal,omitempty"`

	// env belongs to type Env, which the embedded operator rejects.
	Env *EnvSelector `json:"env,omitempty"`

	// filesystem belongs to type FS, which the embedded operator rejects.
	FileSystem *FSSelector `json:"filesystem,omitempty"`
}

// SecretSelector is a key of a Secret.
type SecretSelector struct {
	// namespace is the Secret's namespace. It must be that of the Stack.
	//
	// Deprecated: omit it.
	Namespace string `json:"namespace,omitempty"`

	// name is the Secret's name.
	Name string `json:"name"`

	// key is the key within the Secret.
	Key string `json:"key"`
}

// LiteralRef is a literal value.
type LiteralRef struct {
	// value is the value.
	Value string `json:"value"`
}

// EnvSelector is a variable of the operator's environment.
type EnvSelector struct {
	// name is the variable's name.
	Name string `json:"name"`
}

// FSSelector is a file of the operator.
type FSSelector struct {
	// path is the file's path.
	Path string `json:"path"`
}

// ConfigMapRef is a key of a ConfigMap in the Stack's namespace.
type ConfigMapRef struct {
	// name is the ConfigMap's name.
	Name string `json:"name"`

	// key is the key within the ConfigMap.
	Key string `json:"key"`

	// json parses the value as JSON. By default the value is a string.
	// +optional
	JSON *bool `json:"json,omitempty"`
}
