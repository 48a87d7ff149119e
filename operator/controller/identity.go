package controller

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// tokenSeconds is how long a run's token lives. No run may take longer.
const tokenSeconds = 3600

// kubeconfig returns the Kubernetes identity of a run: a fresh token of the
// Stack's service account, for the operator's cluster and the Stack's namespace.
// Nothing else of the operator's own credentials goes into it.
func kubeconfig(ctx context.Context, c client.Client, config *rest.Config, stack *v1.Stack) (content []byte, token string, err error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: stack.Namespace, Name: stack.ServiceAccount(),
	}}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](tokenSeconds)},
	}
	if err := c.SubResource("token").Create(ctx, account, request); err != nil {
		return nil, "", fmt.Errorf("get a token of service account %s/%s: %w", account.Namespace, account.Name, err)
	}
	token = request.Status.Token

	loaded := rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(loaded); err != nil {
		return nil, "", fmt.Errorf("load the cluster's certificate authority: %w", err)
	}
	const name = "stack"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   config.Host,
		TLSServerName:            config.ServerName,
		InsecureSkipTLSVerify:    config.Insecure,
		CertificateAuthorityData: loaded.CAData,
	}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: stack.Namespace}
	file.CurrentContext = name
	if content, err = clientcmd.Write(*file); err != nil {
		return nil, "", fmt.Errorf("write kubeconfig of service account %s/%s: %w", account.Namespace, account.Name, err)
	}
	return content, token, nil
}
