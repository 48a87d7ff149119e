// Package controlplane runs a Kubernetes control plane (etcd, kube-apiserver, kube-controller-manager and
// kube-scheduler) as child processes on loopback, with its state in a home.
package controlplane

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/process"
)

// NodeName is the name of the only node.
const NodeName = "local"

const (
	serviceRange = "10.96.0.0/16"
	issuer       = "https://kubernetes.default.svc.cluster.local"
	stopGrace    = 10 * time.Second
	readyTimeout = 2 * time.Minute
	// healthTimeout is how long etcd may take to report its health.
	healthTimeout = 5 * time.Second
	pollEvery     = 50 * time.Millisecond
)

// These ranges and addresses describe the network of the pods. No address of it exists on the machine, so all homes share
// them.
var (
	// Services is the range of the Services' addresses.
	Services = netip.MustParsePrefix(serviceRange)
	// APIServer is the address of the Service kubernetes.default: the first one of Services.
	APIServer = netip.MustParseAddr("10.96.0.1")
	// DNS is the address of the cluster's DNS server.
	DNS = netip.MustParseAddr("10.96.0.10")
	// Pods is the range of the pods' addresses, and Gateway the address of their gateway.
	Pods    = netip.MustParsePrefix("10.128.0.0/16")
	Gateway = netip.MustParseAddr("10.128.0.1")
)

// These are the clients of the API server. Each has its own certificate and kubeconfig.
const (
	adminClient             = "admin"
	controllerManagerClient = "kube-controller-manager"
	schedulerClient         = "kube-scheduler"
	nodeClient              = "node"
)

// These are the certificates for the node's own API: the node's, and that of its only client, the API server.
const (
	nodeServer    = "node-server"
	kubeletClient = "kube-apiserver-kubelet-client"
)

// FindTool returns the path of a program of the toolchain.
type FindTool func(ctx context.Context, name string) (string, error)

// ControlPlane is the control plane of a home.
type ControlPlane struct {
	home   home.Home
	find   FindTool
	now    func() time.Time
	etcd   string // URL
	server string // URL of the API server
	client kubernetes.Interface

	mu       sync.Mutex
	children []*process.Keeper
	waiting  string
}

// New returns the control plane of a home. It finds its programs with find, and starts none.
func New(h home.Home, find FindTool) *ControlPlane {
	return &ControlPlane{home: h, find: find, now: time.Now}
}

// Exists reports whether the home holds the data of a control plane.
func Exists(h home.Home) bool {
	_, err := os.Stat(store(h))
	return err == nil
}

// Start calls New and starts the result.
func Start(ctx context.Context, h home.Home, find FindTool) (*ControlPlane, error) {
	c := New(h, find)
	return c, c.Start(ctx)
}

// Start starts the control plane and returns when it serves and its controllers work. It reuses data and keys of an
// earlier start. If it fails, it stops all programs again.
func (c *ControlPlane) Start(ctx context.Context) error {
	etcdPort, err := freePort(c.home, "etcd")
	if err != nil {
		return fmt.Errorf("start the control plane: %w", err)
	}
	apiPort, err := freePort(c.home, "kube-apiserver")
	if err != nil {
		return fmt.Errorf("start the control plane: %w", err)
	}
	c.etcd = fmt.Sprintf("https://127.0.0.1:%d", etcdPort)
	c.server = fmt.Sprintf("https://127.0.0.1:%d", apiPort)
	if err := c.ensureKeys(); err != nil {
		return fmt.Errorf("create the keys of the control plane: %w", err)
	}
	if c.client, err = kubernetes.NewForConfig(c.unlimited()); err != nil {
		return fmt.Errorf("start the control plane: %w", err)
	}
	if err := c.start(ctx, apiPort); err != nil {
		c.Stop()
		return fmt.Errorf("start the control plane: %w", err)
	}
	return nil
}

// freePort returns the reserved port of a program, and checks that the port is free.
func freePort(h home.Home, name string) (int, error) {
	l, err := h.Listen(name)
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// Stop stops the control plane: first the clients of the API server, then the API server, then etcd.
func (c *ControlPlane) Stop() {
	c.mu.Lock()
	children := c.children
	c.mu.Unlock()
	var group sync.WaitGroup
	// The first two programs are etcd and the API server.
	for _, child := range children[min(2, len(children)):] {
		group.Go(child.Stop)
	}
	group.Wait()
	for _, child := range slices.Backward(children[:min(2, len(children))]) {
		child.Stop()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.children = nil
}

// States returns the states of the programs, in the order of their start.
func (c *ControlPlane) States() []process.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	states := make([]process.State, len(c.children))
	for i, child := range c.children {
		states[i] = child.State()
	}
	return states
}

// Waiting describes what Start or WaitNode is waiting for.
func (c *ControlPlane) Waiting() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting
}

// Server returns the URL of the API server.
func (c *ControlPlane) Server() string { return c.server }

// Credentials returns the cluster's CA and the administrator's client certificate and key, in PEM form.
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

// AdminConfig returns a client configuration with all rights.
func (c *ControlPlane) AdminConfig() *rest.Config { return c.clientConfig(adminClient) }

// unlimited is AdminConfig without a rate limit, for the many requests during a wait.
func (c *ControlPlane) unlimited() *rest.Config {
	config := c.AdminConfig()
	config.QPS = -1
	return config
}

// NodeConfig returns a client configuration with the rights that the Node authorizer gives to the node.
func (c *ControlPlane) NodeConfig() *rest.Config { return c.clientConfig(nodeClient) }

// clientConfig returns the configuration of one of the clients of the API server.
func (c *ControlPlane) clientConfig(client string) *rest.Config {
	// With only the file's path, client-go would keep trusting the file's first content. A new cluster after Erase has
	// another CA in that file. client-go itself reports a file that it cannot read.
	ca, _ := os.ReadFile(c.pki().cert("ca"))
	return &rest.Config{
		Host: c.server,
		TLSClientConfig: rest.TLSClientConfig{
			CAFile:   c.pki().cert("ca"),
			CAData:   ca,
			CertFile: c.pki().cert(client),
			KeyFile:  c.pki().key(client),
		},
	}
}

// pki returns the folder of the keys and certificates.
func (c *ControlPlane) pki() pki {
	return pki{dir: filepath.Join(c.home.Kubernetes(), "pki"), now: c.now}
}
