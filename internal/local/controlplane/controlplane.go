// Package controlplane runs a Kubernetes control plane (etcd, kube-apiserver, kube-controller-manager and
// kube-scheduler) as child processes on loopback, with its state in a home.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/strata-platform/strata/internal/local/home"
	"github.com/strata-platform/strata/internal/local/process"
)

// NodeName is the name of the only node.
const NodeName = "local"

const (
	serviceRange = "10.96.0.0/16"
	issuer       = "https://kubernetes.default.svc.cluster.local"
	stopGrace    = 10 * time.Second
	readyTimeout = 2 * time.Minute
	portTimeout  = 3 * time.Second
	pollEvery    = 50 * time.Millisecond
)

// serviceIP is the first address of serviceRange: the service kubernetes.default.
var serviceIP = net.IPv4(10, 96, 0, 1)

// Clients of the API server, each with a certificate and a kubeconfig of its own.
const (
	adminClient             = "admin"
	controllerManagerClient = "kube-controller-manager"
	schedulerClient         = "kube-scheduler"
	nodeClient              = "node"
)

// The node's own API: its certificate, and that of its only client, the API server.
const (
	nodeServer    = "node-server"
	kubeletClient = "kube-apiserver-kubelet-client"
)

// FindTool returns the path of a program of the toolchain.
type FindTool func(ctx context.Context, name string) (string, error)

// ControlPlane is a running control plane.
type ControlPlane struct {
	home     home.Home
	server   string
	children []*process.Keeper
}

// Exists says whether the home holds the data of a control plane.
func Exists(h home.Home) bool { return exists(filepath.Join(h.Kubernetes(), "etcd")) }

// Start starts the control plane of a home and returns when the API server answers that it is ready. Data and keys
// from an earlier start are used again.
func Start(ctx context.Context, h home.Home, find FindTool) (*ControlPlane, error) {
	etcdPort, err := portOf(ctx, h, "etcd")
	if err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	apiPort, err := portOf(ctx, h, "kube-apiserver")
	if err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	c := &ControlPlane{home: h, server: fmt.Sprintf("https://127.0.0.1:%d", apiPort)}
	if err := c.ensureKeys(); err != nil {
		return nil, fmt.Errorf("make the keys of the control plane: %w", err)
	}
	if err := c.start(ctx, find, etcdPort, apiPort); err != nil {
		c.Stop()
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	return c, nil
}

// portOf returns the port kept for a program and sees that it is free. What a killed supervisor left may hold it for a
// moment still.
func portOf(ctx context.Context, h home.Home, name string) (port int, err error) {
	ctx, cancel := context.WithTimeout(ctx, portTimeout)
	defer cancel()
	for {
		var l net.Listener
		if l, err = h.Listen(name); err == nil {
			return l.Addr().(*net.TCPAddr).Port, l.Close()
		}
		select {
		case <-ctx.Done():
			return 0, err
		case <-time.After(pollEvery):
		}
	}
}

// Erase removes all data of a stopped control plane.
func Erase(h home.Home) error {
	if err := os.RemoveAll(h.Kubernetes()); err != nil {
		return fmt.Errorf("erase the control plane: %w", err)
	}
	return nil
}

// Stop ends the control plane, the API server before its store.
func (c *ControlPlane) Stop() {
	for _, child := range slices.Backward(c.children) {
		child.Stop()
	}
	c.children = nil
}

// States tells how the child processes are.
func (c *ControlPlane) States() []process.State {
	states := make([]process.State, len(c.children))
	for i, child := range c.children {
		states[i] = child.State()
	}
	return states
}

// Server is the URL of the API server.
func (c *ControlPlane) Server() string { return c.server }

// Credentials returns the cluster's CA and the administrator's client certificate and key, in PEM.
func (c *ControlPlane) Credentials() (ca, cert, key []byte, err error) {
	p := c.pki()
	for _, f := range []struct {
		to   *[]byte
		path string
	}{{&ca, p.cert("ca")}, {&cert, p.cert(adminClient)}, {&key, p.key(adminClient)}} {
		if *f.to, err = os.ReadFile(f.path); err != nil {
			return nil, nil, nil, err
		}
	}
	return ca, cert, key, nil
}

// AdminConfig is a client configuration with all rights.
func (c *ControlPlane) AdminConfig() *rest.Config { return c.clientConfig(adminClient) }

// NodeConfig is a client configuration with the rights that the Node authorizer gives to the node.
func (c *ControlPlane) NodeConfig() *rest.Config { return c.clientConfig(nodeClient) }

func (c *ControlPlane) clientConfig(client string) *rest.Config {
	return &rest.Config{
		Host: c.server,
		TLSClientConfig: rest.TLSClientConfig{
			CAFile:   c.pki().cert("ca"),
			CertFile: c.pki().cert(client),
			KeyFile:  c.pki().key(client),
		},
	}
}

func (c *ControlPlane) pki() pki { return pki{dir: filepath.Join(c.home.Kubernetes(), "pki")} }

func (c *ControlPlane) ensureKeys() error {
	p := c.pki()
	ca, err := p.ensureCA("ca")
	if err != nil {
		return err
	}
	etcdCA, err := p.ensureCA("etcd-ca")
	if err != nil {
		return err
	}
	err = errors.Join(
		p.ensureKey("service-account"),
		p.ensureServer(etcdCA, "etcd"),
		p.ensureClient(etcdCA, "etcd-client", "kube-apiserver"),
		p.ensureServer(ca, "kube-apiserver", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"),
		p.ensureClient(ca, adminClient, "strata:admin", "system:masters"),
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

func (c *ControlPlane) kubeconfig(client string) string {
	return filepath.Join(c.home.Kubernetes(), client+".kubeconfig")
}

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
	return home.WriteFile(path, raw)
}

// waitReady waits until the API server says that it is ready, or says why its process ended.
func (c *ControlPlane) waitReady(ctx context.Context, apiserver *process.Keeper) error {
	client, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if _, err = client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err == nil {
			return nil
		}
		if state := apiserver.State(); state.Restarts > 2 && state.LastError != "" {
			return errors.New(state.LastError)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kube-apiserver is not ready after %s: %w; see %s", readyTimeout, err, c.home.Log("kube-apiserver"))
		case <-tick.C:
		}
	}
}
