package controlplane

import (
	"errors"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// Admin is the name of the administrator of the cluster.
const Admin = "strata:admin"

// ensureKeys creates the missing keys, certificates and kubeconfigs.
func (c *ControlPlane) ensureKeys() error {
	p := c.pki()
	ca, err := p.ensureCA("ca")
	if err != nil {
		return err
	}
	// etcd trusts an authority of its own. With a shared one, every client of the API server could read and write etcd directly.
	etcdCA, err := p.ensureCA("etcd-ca")
	if err != nil {
		return err
	}
	err = errors.Join(
		p.ensurePair("service-account"),
		p.ensureServer(etcdCA, "etcd"),
		p.ensureClient(etcdCA, "etcd-client", "kube-apiserver"),
		p.ensureServer(ca, "kube-apiserver", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"),
		p.ensureClient(ca, adminClient, Admin, "system:masters"),
		p.ensureClient(ca, controllerManagerClient, "system:kube-controller-manager"),
		p.ensureClient(ca, schedulerClient, "system:kube-scheduler"),
		p.ensureClient(ca, nodeClient, "system:node:"+NodeName, "system:nodes"),
		p.ensureServer(ca, nodeServer, NodeName),
		p.ensureClient(ca, kubeletClient, kubeletClient),
	)
	if err != nil {
		return err
	}
	for client, path := range map[string]string{
		adminClient:             c.home.AdminKubeconfig(),
		controllerManagerClient: c.kubeconfig(controllerManagerClient),
		schedulerClient:         c.kubeconfig(schedulerClient),
	} {
		if err := c.writeKubeconfig(client, path); err != nil {
			return err
		}
	}
	return nil
}

// kubeconfig returns the path of the kubeconfig of a component.
func (c *ControlPlane) kubeconfig(client string) string {
	return filepath.Join(c.home.Kubernetes(), client+".kubeconfig")
}

// writeKubeconfig writes the kubeconfig of a client. It contains the keys themselves, so that a user can copy it.
func (c *ControlPlane) writeKubeconfig(client, path string) error {
	p := c.pki()
	ca, err := os.ReadFile(p.cert("ca"))
	if err != nil {
		return err
	}
	cert, err := os.ReadFile(p.cert(client))
	if err != nil {
		return err
	}
	key, err := os.ReadFile(p.key(client))
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["strata"] = &clientcmdapi.Cluster{Server: c.server, CertificateAuthorityData: ca}
	config.AuthInfos[client] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	config.Contexts["strata"] = &clientcmdapi.Context{Cluster: "strata", AuthInfo: client}
	config.CurrentContext = "strata"
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return home.KeepFile(path, raw)
}
