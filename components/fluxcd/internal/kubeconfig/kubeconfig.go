// Package kubeconfig converts a kubeconfig to the arguments of the Flux provider.
package kubeconfig

import (
	"errors"
	"fmt"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-platform/strata/sdks/flux"
)

// Parse returns the cluster and the credentials of the current context. It fails if the kubeconfig refers to files,
// because the provider may run on another machine. No error quotes the content, which contains credentials.
func Parse(text string) (flux.ProviderKubernetes, error) {
	var k flux.ProviderKubernetes
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		return k, errors.New("the kubeconfig is not valid: give the YAML of kind Config")
	}
	current, ok := config.Contexts[config.CurrentContext]
	if !ok {
		return k, fmt.Errorf("the kubeconfig has no context %q, although current-context names it: correct current-context, or add the entry", config.CurrentContext)
	}
	cluster, ok := config.Clusters[current.Cluster]
	if !ok || cluster.Server == "" {
		return k, fmt.Errorf("the kubeconfig has no cluster %q with a server: correct current-context, or add the entry", current.Cluster)
	}
	user, ok := config.AuthInfos[current.AuthInfo]
	if !ok {
		return k, fmt.Errorf("the kubeconfig has no user %q: correct current-context, or add the entry", current.AuthInfo)
	}
	if cluster.CertificateAuthority != "" || user.ClientCertificate != "" || user.ClientKey != "" || user.TokenFile != "" {
		return k, errors.New("the kubeconfig refers to files: put their content into it")
	}
	k.Host = &cluster.Server
	k.ClusterCaCertificate = optional(string(cluster.CertificateAuthorityData))
	k.ProxyUrl = optional(cluster.ProxyURL)
	k.ClientCertificate = optional(string(user.ClientCertificateData))
	k.ClientKey = optional(string(user.ClientKeyData))
	k.Token = optional(user.Token)
	k.Username = optional(user.Username)
	k.Password = optional(user.Password)
	if cluster.InsecureSkipTLSVerify {
		k.Insecure = &cluster.InsecureSkipTLSVerify
	}
	if user.Exec != nil {
		k.Exec = &flux.ProviderKubernetesExec{ApiVersion: user.Exec.APIVersion, Command: user.Exec.Command, Args: user.Exec.Args}
		for _, v := range user.Exec.Env {
			if k.Exec.Env == nil {
				k.Exec.Env = map[string]string{}
			}
			k.Exec.Env[v.Name] = v.Value
		}
	}
	return k, nil
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
