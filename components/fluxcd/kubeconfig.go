package fluxcd

import (
	"errors"
	"fmt"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-platform/strata/sdks/flux"
)

// parseKubeconfig converts the current context of a kubeconfig to the arguments of the Flux provider. No error quotes the
// content.
func parseKubeconfig(text string) (flux.ProviderKubernetes, error) {
	var k flux.ProviderKubernetes
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		return k, errors.New("the kubeconfig is no valid one")
	}
	current, ok := config.Contexts[config.CurrentContext]
	if !ok {
		return k, fmt.Errorf("the kubeconfig has no context %q, which it calls its current one", config.CurrentContext)
	}
	cluster, ok := config.Clusters[current.Cluster]
	if !ok || cluster.Server == "" {
		return k, fmt.Errorf("the kubeconfig has no cluster %q with a server", current.Cluster)
	}
	user, ok := config.AuthInfos[current.AuthInfo]
	if !ok {
		return k, fmt.Errorf("the kubeconfig has no user %q", current.AuthInfo)
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
