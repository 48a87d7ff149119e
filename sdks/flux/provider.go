package flux

import (
	"reflect"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Provider is an instance of the Flux provider: one cluster and one Git repository.
type Provider struct {
	pulumi.ProviderResourceState
}

// NewProvider registers a provider with the given name.
func NewProvider(ctx *pulumi.Context, name string, args *ProviderArgs, opts ...pulumi.ResourceOption) (*Provider, error) {
	if args == nil {
		args = &ProviderArgs{}
	}
	p := &Provider{}
	if err := ctx.RegisterResource(ProviderToken, name, args, p, withPlugin(opts)...); err != nil {
		return nil, err
	}
	return p, nil
}

// ProviderArgs configures a Provider.
type ProviderArgs struct {
	// Kubernetes describes the connection to the cluster. It is a *ProviderKubernetesArgs, or an output of
	// ProviderKubernetes, as pulumix.Apply returns it, if the program computes which fields are set.
	Kubernetes pulumi.Input
	// Git describes the repository of the manifests.
	Git *ProviderGitArgs
}

type providerArgs struct {
	Kubernetes *ProviderKubernetes `pulumi:"kubernetes"`
	Git        *ProviderGit        `pulumi:"git"`
}

// ElementType implements pulumi.Input.
func (ProviderArgs) ElementType() reflect.Type { return reflect.TypeFor[providerArgs]() }

// ProviderKubernetes is the plain form of ProviderKubernetesArgs.
type ProviderKubernetes struct {
	Host                  *string                 `pulumi:"host"`
	ClusterCaCertificate  *string                 `pulumi:"clusterCaCertificate"`
	ClientCertificate     *string                 `pulumi:"clientCertificate"`
	ClientKey             *string                 `pulumi:"clientKey"`
	Token                 *string                 `pulumi:"token"`
	Username              *string                 `pulumi:"username"`
	Password              *string                 `pulumi:"password"`
	Insecure              *bool                   `pulumi:"insecure"`
	ProxyUrl              *string                 `pulumi:"proxyUrl"`
	ConfigPath            *string                 `pulumi:"configPath"`
	ConfigPaths           []string                `pulumi:"configPaths"`
	ConfigContext         *string                 `pulumi:"configContext"`
	ConfigContextAuthInfo *string                 `pulumi:"configContextAuthInfo"`
	ConfigContextCluster  *string                 `pulumi:"configContextCluster"`
	Exec                  *ProviderKubernetesExec `pulumi:"exec"`
}

// ProviderKubernetesArgs describes the connection to the cluster: a kubeconfig file, single fields, or both. A field takes
// precedence over the file.
type ProviderKubernetesArgs struct {
	// Host is the address of the API server, as a URI.
	Host pulumi.StringPtrInput
	// ClusterCaCertificate is the PEM bundle that verifies the server's certificate.
	ClusterCaCertificate pulumi.StringPtrInput
	// ClientCertificate is a PEM certificate to authenticate with. It needs ClientKey.
	ClientCertificate pulumi.StringPtrInput
	// ClientKey is the PEM key of ClientCertificate. Make it secret.
	ClientKey pulumi.StringPtrInput
	// Token is a bearer token to authenticate with. Make it secret.
	Token pulumi.StringPtrInput
	// Username and Password authenticate by HTTP basic authentication.
	Username, Password pulumi.StringPtrInput
	// Insecure skips the check of the server's certificate.
	Insecure pulumi.BoolPtrInput
	// ProxyUrl is the proxy for all requests to the cluster.
	ProxyUrl pulumi.StringPtrInput
	// ConfigPath is the path of a kubeconfig file.
	ConfigPath pulumi.StringPtrInput
	// ConfigPaths are the paths of kubeconfig files to merge. ConfigPath takes precedence over ConfigPaths.
	ConfigPaths pulumi.StringArrayInput
	// ConfigContext, ConfigContextAuthInfo and ConfigContextCluster select a context, a user and a cluster of the
	// kubeconfig; by default its current context.
	ConfigContext, ConfigContextAuthInfo, ConfigContextCluster pulumi.StringPtrInput
	// Exec is a command that prints a credential.
	Exec *ProviderKubernetesExecArgs
}

// ElementType implements pulumi.Input.
func (ProviderKubernetesArgs) ElementType() reflect.Type {
	return reflect.TypeFor[ProviderKubernetes]()
}

// ProviderKubernetesExec is the plain form of ProviderKubernetesExecArgs.
type ProviderKubernetesExec struct {
	ApiVersion string            `pulumi:"apiVersion"`
	Command    string            `pulumi:"command"`
	Args       []string          `pulumi:"args"`
	Env        map[string]string `pulumi:"env"`
}

// ProviderKubernetesExecArgs describes a credential plugin of client-go.
type ProviderKubernetesExecArgs struct {
	// ApiVersion is the version of the client authentication API that the command implements. Required.
	ApiVersion pulumi.StringInput
	// Command is the command to run. Required.
	Command pulumi.StringInput
	// Args are the arguments of the command.
	Args pulumi.StringArrayInput
	// Env holds variables in addition to the provider's own environment.
	Env pulumi.StringMapInput
}

// ElementType implements pulumi.Input.
func (ProviderKubernetesExecArgs) ElementType() reflect.Type {
	return reflect.TypeFor[ProviderKubernetesExec]()
}

// ProviderGit is the plain form of ProviderGitArgs.
type ProviderGit struct {
	Url                   string           `pulumi:"url"`
	Branch                *string          `pulumi:"branch"`
	AuthorName            *string          `pulumi:"authorName"`
	AuthorEmail           *string          `pulumi:"authorEmail"`
	CommitMessageAppendix *string          `pulumi:"commitMessageAppendix"`
	GpgKeyId              *string          `pulumi:"gpgKeyId"`
	GpgKeyRing            *string          `pulumi:"gpgKeyRing"`
	GpgPassphrase         *string          `pulumi:"gpgPassphrase"`
	Http                  *ProviderGitHttp `pulumi:"http"`
	Ssh                   *ProviderGitSsh  `pulumi:"ssh"`
}

// ProviderGitArgs describes the repository that Flux's manifests are pushed to and synchronised from.
type ProviderGitArgs struct {
	// Url is the URL of the repository: http, https or ssh. Required.
	Url pulumi.StringInput
	// Branch is the branch to push to and synchronise from, "main" by default.
	Branch pulumi.StringPtrInput
	// AuthorName and AuthorEmail sign the commits; the name is "Flux" by default.
	AuthorName, AuthorEmail pulumi.StringPtrInput
	// CommitMessageAppendix is added to every commit message.
	CommitMessageAppendix pulumi.StringPtrInput
	// GpgKeyRing is the path of a key ring to sign commits with. GpgKeyId selects a key in it, GpgPassphrase decrypts that
	// key.
	GpgKeyId, GpgKeyRing, GpgPassphrase pulumi.StringPtrInput
	// Http holds the credentials for an http or https address. It excludes Ssh.
	Http *ProviderGitHttpArgs
	// Ssh holds the credentials for an ssh address. It excludes Http.
	Ssh *ProviderGitSshArgs
}

// ElementType implements pulumi.Input.
func (ProviderGitArgs) ElementType() reflect.Type { return reflect.TypeFor[ProviderGit]() }

// ProviderGitHttp is the plain form of ProviderGitHttpArgs.
type ProviderGitHttp struct {
	Username             *string `pulumi:"username"`
	Password             *string `pulumi:"password"`
	AllowInsecureHttp    *bool   `pulumi:"allowInsecureHttp"`
	CertificateAuthority *string `pulumi:"certificateAuthority"`
}

// ProviderGitHttpArgs are the credentials for http and https.
type ProviderGitHttpArgs struct {
	// Username and Password authenticate by HTTP basic authentication. Make Password secret.
	Username, Password pulumi.StringPtrInput
	// AllowInsecureHttp allows the credentials over plain http.
	AllowInsecureHttp pulumi.BoolPtrInput
	// CertificateAuthority is a PEM bundle for a server with a certificate of a private authority.
	CertificateAuthority pulumi.StringPtrInput
}

// ElementType implements pulumi.Input.
func (ProviderGitHttpArgs) ElementType() reflect.Type { return reflect.TypeFor[ProviderGitHttp]() }

// ProviderGitSsh is the plain form of ProviderGitSshArgs.
type ProviderGitSsh struct {
	Username   *string `pulumi:"username"`
	Password   *string `pulumi:"password"`
	PrivateKey *string `pulumi:"privateKey"`
}

// ProviderGitSshArgs are the credentials for ssh.
type ProviderGitSshArgs struct {
	// Username is the user on the server, "git" by default.
	Username pulumi.StringPtrInput
	// PrivateKey is a PEM key. Password decrypts it. Make both secret.
	PrivateKey, Password pulumi.StringPtrInput
}

// ElementType implements pulumi.Input.
func (ProviderGitSshArgs) ElementType() reflect.Type { return reflect.TypeFor[ProviderGitSsh]() }
