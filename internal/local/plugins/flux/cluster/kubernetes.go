// Package cluster connects to the cluster on which Flux runs, and waits for its objects.
package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	autov1 "github.com/fluxcd/image-automation-controller/api/v1"
	imagev1 "github.com/fluxcd/image-reflector-controller/api/v1"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1b3 "github.com/fluxcd/notification-controller/api/v1beta3"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	swapi "github.com/fluxcd/source-watcher/api/v2/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// These limits of the client are high because a bootstrap sends a burst of about two hundred requests, which need not
// wait.
const (
	clientQPS   = 200
	clientBurst = 400
)

// Kubernetes is the connection to the cluster: kubeconfig files, the fields of one, or both. The fields override the
// files.
type Kubernetes struct {
	Host                  string   `json:"host"`
	ClusterCACertificate  string   `json:"clusterCaCertificate"`
	ClientCertificate     string   `json:"clientCertificate"`
	ClientKey             string   `json:"clientKey"`
	Token                 string   `json:"token"`
	Username              string   `json:"username"`
	Password              string   `json:"password"`
	Insecure              bool     `json:"insecure"`
	ProxyURL              string   `json:"proxyUrl"`
	ConfigPath            string   `json:"configPath"`
	ConfigPaths           []string `json:"configPaths"`
	ConfigContext         string   `json:"configContext"`
	ConfigContextAuthInfo string   `json:"configContextAuthInfo"`
	ConfigContextCluster  string   `json:"configContextCluster"`
	Exec                  *Exec    `json:"exec"`
}

// Exec describes a credential plugin of client-go. Its fields are those of a kubeconfig.
type Exec struct {
	APIVersion string            `json:"apiVersion"`
	Command    string            `json:"command"`
	Args       []string          `json:"args"`
	Env        map[string]string `json:"env"`
}

// restConfig merges the kubeconfig files and the fields.
func (k Kubernetes) restConfig() (*rest.Config, error) {
	rules := &clientcmd.ClientConfigLoadingRules{}
	paths := k.ConfigPaths
	if k.ConfigPath != "" {
		paths = []string{k.ConfigPath}
	}
	for _, p := range paths {
		expanded, err := expandHome(p)
		if err != nil {
			return nil, err
		}
		rules.Precedence = append(rules.Precedence, expanded)
	}
	overrides := &clientcmd.ConfigOverrides{
		CurrentContext: k.ConfigContext,
		Context:        clientcmdapi.Context{AuthInfo: k.ConfigContextAuthInfo, Cluster: k.ConfigContextCluster},
		ClusterInfo: clientcmdapi.Cluster{
			Server:                   k.Host,
			CertificateAuthorityData: []byte(k.ClusterCACertificate),
			InsecureSkipTLSVerify:    k.Insecure,
			ProxyURL:                 k.ProxyURL,
		},
		AuthInfo: clientcmdapi.AuthInfo{
			ClientCertificateData: []byte(k.ClientCertificate),
			ClientKeyData:         []byte(k.ClientKey),
			Token:                 k.Token,
			Username:              k.Username,
			Password:              k.Password,
		},
	}
	if k.Exec != nil {
		exec := &clientcmdapi.ExecConfig{
			APIVersion:      k.Exec.APIVersion,
			Command:         k.Exec.Command,
			Args:            k.Exec.Args,
			InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		}
		for name, value := range k.Exec.Env {
			exec.Env = append(exec.Env, clientcmdapi.ExecEnvVar{Name: name, Value: value})
		}
		overrides.AuthInfo.Exec = exec
	}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the provider's kubernetes configuration: %w", err)
	}
	cfg.QPS, cfg.Burst = clientQPS, clientBurst
	// client-go would write the API server's deprecation warnings to the plugin's standard error.
	cfg.WarningHandler = rest.NoWarnings{}
	return cfg, nil
}

// expandHome replaces a leading ~ by the home folder.
func expandHome(p string) (string, error) {
	rest, ok := strings.CutPrefix(p, "~/")
	if !ok {
		return p, nil
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home folder for kubernetes.configPath %s: %w", p, err)
	}
	return filepath.Join(dir, rest), nil
}

// NewClient returns a client that knows all kinds of Flux, and discovers kinds that the cluster gets later.
func (k Kubernetes) NewClient() (client.Client, error) {
	cfg, err := k.restConfig()
	if err != nil {
		return nil, err
	}
	hc, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("create an HTTP client for cluster %s: %w", cfg.Host, err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(cfg, hc)
	if err != nil {
		return nil, fmt.Errorf("discover the kinds of cluster %s: %w", cfg.Host, err)
	}
	c, err := client.New(cfg, client.Options{HTTPClient: hc, Mapper: mapper, Scheme: newScheme()})
	if err != nil {
		return nil, fmt.Errorf("create a client for cluster %s: %w", cfg.Host, err)
	}
	return c, nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme,
		apiextensionsv1.AddToScheme,
		sourcev1.AddToScheme,
		kustomizev1.AddToScheme,
		helmv2.AddToScheme,
		notificationv1.AddToScheme,
		notificationv1b3.AddToScheme,
		imagev1.AddToScheme,
		autov1.AddToScheme,
		swapi.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}
