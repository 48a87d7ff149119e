package processes

import (
	"fmt"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// WriteKubeconfig writes a kubeconfig for a service account to path. server is the URL of the API server; account is
// the folder with the account's files ca.crt and token. Programs that find their cluster by the in-cluster files and
// variables find it here by KUBECONFIG. The kubeconfig names the token's file, so it stays valid when the token changes.
func WriteKubeconfig(path, server, account, namespace string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: server, CertificateAuthority: filepath.Join(account, "ca.crt")}
	config.AuthInfos["pod"] = &clientcmdapi.AuthInfo{TokenFile: filepath.Join(account, "token")}
	config.Contexts["pod"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "pod", Namespace: namespace}
	config.CurrentContext = "pod"
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("write the pod's kubeconfig: %w", err)
	}
	if err := home.WriteFile(path, raw); err != nil {
		return fmt.Errorf("write the pod's kubeconfig: %w", err)
	}
	return nil
}
