package gke

import (
	"encoding/base64"
	"errors"
	"fmt"

	clientcmd "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"
)

// execAPIVersion is the version of the protocol between a client and gke-gcloud-auth-plugin.
const execAPIVersion = "client.authentication.k8s.io/v1beta1"

// access holds the content of a kubeconfig. Certificates and keys are base64, as the API returns them.
type access struct {
	// Name is the name of the cluster, the user and the context. It must not change with the cluster's address.
	Name string
	// Endpoint is the address of the control plane, with a port if the port is not 443.
	Endpoint string
	// CACertificate verifies the API server's certificate.
	CACertificate string
	// ClientCertificate and ClientKey authenticate the client; both empty means that gke-gcloud-auth-plugin does.
	ClientCertificate, ClientKey string
}

// kubeconfig renders a kubeconfig. Equal access values always render the same bytes, so that dependent resources see no
// change.
func (a access) kubeconfig() (string, error) {
	if a.Endpoint == "" {
		return "", errors.New("the cluster has no endpoint")
	}
	authority, err := decode("CA certificate", a.CACertificate)
	if err != nil {
		return "", err
	}
	user, err := a.user()
	if err != nil {
		return "", err
	}
	content, err := yaml.Marshal(clientcmd.Config{
		APIVersion: "v1",
		Kind:       "Config",
		Clusters: []clientcmd.NamedCluster{{Name: a.Name, Cluster: clientcmd.Cluster{
			Server: "https://" + a.Endpoint, CertificateAuthorityData: authority,
		}}},
		AuthInfos:      []clientcmd.NamedAuthInfo{{Name: a.Name, AuthInfo: user}},
		Contexts:       []clientcmd.NamedContext{{Name: a.Name, Context: clientcmd.Context{Cluster: a.Name, AuthInfo: a.Name}}},
		CurrentContext: a.Name,
	})
	return string(content), err
}

func (a access) user() (clientcmd.AuthInfo, error) {
	if a.ClientCertificate == "" && a.ClientKey == "" {
		return clientcmd.AuthInfo{Exec: &clientcmd.ExecConfig{
			APIVersion:         execAPIVersion,
			Command:            "gke-gcloud-auth-plugin",
			InstallHint:        "install it with: gcloud components install gke-gcloud-auth-plugin",
			InteractiveMode:    clientcmd.NeverExecInteractiveMode,
			ProvideClusterInfo: true,
		}}, nil
	}
	certificate, err := decode("client certificate", a.ClientCertificate)
	if err != nil {
		return clientcmd.AuthInfo{}, err
	}
	key, err := decode("client key", a.ClientKey)
	if err != nil {
		return clientcmd.AuthInfo{}, err
	}
	return clientcmd.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key}, nil
}

// decode decodes base64. Its errors never quote the value, because a key must not end up in a log.
func decode(what, encoded string) ([]byte, error) {
	content, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("the cluster's %s is not base64", what)
	}
	if len(content) == 0 {
		return nil, fmt.Errorf("the cluster has no %s", what)
	}
	return content, nil
}
