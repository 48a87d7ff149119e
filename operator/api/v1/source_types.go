package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GitSource says where in git a program is.
type GitSource struct {
	// projectRepo is the address of the git repository.
	// +optional
	ProjectRepo string `json:"projectRepo,omitempty"`

	// repoDir is the folder of the repository that holds Pulumi.yaml; the root
	// when left out.
	RepoDir string `json:"repoDir,omitempty"`

	// commit is the hash of the commit to run. It excludes branch.
	Commit string `json:"commit,omitempty"`

	// branch is the branch to follow, by its short or its full name. It excludes
	// commit.
	Branch string `json:"branch,omitempty"`

	// shallow fetches the one commit without its history.
	Shallow bool `json:"shallow,omitempty"`

	// gitAuth holds the credentials for the repository. It excludes
	// gitAuthSecret.
	GitAuth *GitAuthConfig `json:"gitAuth,omitempty"`

	// gitAuthSecret names a Secret with the credentials for the repository:
	// sshPrivateKey with password, accessToken, or username with password.
	// Kept for old manifests: use gitAuth.
	GitAuthSecret string `json:"gitAuthSecret,omitempty"`
}

// GitAuthConfig holds credentials for a git repository, in one of four forms.
type GitAuthConfig struct {
	// accessToken is a personal access token.
	PersonalAccessToken *ResourceRef `json:"accessToken,omitempty"`

	// sshAuth is an SSH key.
	SSHAuth *SSHAuth `json:"sshAuth,omitempty"`

	// basicAuth is a user name and a password.
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`

	// githubApp is a GitHub App, whose key is exchanged for a short-lived token.
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

// FluxSource says where in a Flux source a program is.
type FluxSource struct {
	// sourceRef identifies the source in the Stack's namespace.
	SourceRef FluxSourceReference `json:"sourceRef"`

	// dir is the folder of the source that holds Pulumi.yaml; the root when left
	// out.
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

// PrerequisiteRef names a Stack that has to succeed first.
type PrerequisiteRef struct {
	// name is the name of a Stack in the same namespace.
	Name string `json:"name"`

	// requirement says more than that the Stack must have succeeded.
	Requirement *RequirementSpec `json:"requirement,omitempty"`
}

// RequirementSpec says when a prerequisite counts as met.
type RequirementSpec struct {
	// succeededWithinDuration is how long ago the success may be, for example 1h. A
	// Stack whose success is older is asked to run again.
	SucceededWithinDuration *metav1.Duration `json:"succeededWithinDuration,omitempty"`
}

// ResourceSelectorType is where a [ResourceRef] takes its value from.
type ResourceSelectorType string

const (
	// ResourceSelectorSecret takes a key of a Secret in the Stack's namespace.
	ResourceSelectorSecret ResourceSelectorType = "Secret"

	// ResourceSelectorLiteral takes the value given.
	ResourceSelectorLiteral ResourceSelectorType = "Literal"

	// ResourceSelectorEnv would take a variable of the operator's environment.
	// It is refused.
	ResourceSelectorEnv ResourceSelectorType = "Env"

	// ResourceSelectorFS would take a file of the operator. It is refused.
	ResourceSelectorFS ResourceSelectorType = "FS"
)

// ResourceRef says where a value comes from.
type ResourceRef struct {
	// type is Secret or Literal. Env and FS are refused: they would read the
	// operator's own environment and files.
	Type ResourceSelectorType `json:"type"`

	// secret is the value's place for type Secret.
	Secret *SecretSelector `json:"secret,omitempty"`

	// literal is the value for type Literal.
	Literal *LiteralRef `json:"literal,omitempty"`

	// env belongs to type Env, which is refused.
	Env *EnvSelector `json:"env,omitempty"`

	// filesystem belongs to type FS, which is refused.
	FileSystem *FSSelector `json:"filesystem,omitempty"`
}

// SecretSelector is a key of a Secret.
type SecretSelector struct {
	// namespace may only be the Stack's own.
	// Kept for old manifests: leave it out.
	Namespace string `json:"namespace,omitempty"`

	// name is the Secret's name.
	Name string `json:"name"`

	// key is the key within the Secret.
	Key string `json:"key"`
}

// LiteralRef is a value written in place.
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

	// json parses the value as JSON; otherwise it is a string as it stands.
	// +optional
	JSON *bool `json:"json,omitempty"`
}
