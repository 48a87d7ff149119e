package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/internal/local/controlplane"
	"github.com/strata-platform/strata/internal/local/gcloud"
	"github.com/strata-platform/strata/internal/local/home"
	"github.com/strata-platform/strata/internal/local/node"
)

// cluster is the one cluster of a home: a control plane and its node. It is the gcloud.ClusterRuntime behind the
// emulated Kubernetes Engine.
type cluster struct {
	home      home.Home
	find      controlplane.FindTool
	version   string
	catalogue node.Catalogue
	log       *slog.Logger
	// closing is closed when the supervisor stops: a start that goes on is given up, and none begins any more.
	closing <-chan struct{}

	// lifecycle is held while the cluster is started or stopped; mu guards what status reads meanwhile.
	lifecycle sync.Mutex
	mu        sync.Mutex
	state     ClusterState
	err       error
	plane     *controlplane.ControlPlane
	stopNode  func()
}

// nodeTimeout is how long a node may take to register.
const nodeTimeout = time.Minute

// start starts the cluster where it does not run yet and returns when its node takes pods.
func (c *cluster) start(ctx context.Context) error {
	c.lifecycle.Lock()
	defer c.lifecycle.Unlock()
	if c.get() == ClusterRunning {
		return nil
	}
	ctx, cancel := c.untilClosing(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return fmt.Errorf("start the cluster: %w", context.Cause(ctx))
	}
	c.set(ClusterStarting, nil)
	plane, err := controlplane.Start(ctx, c.home, c.find)
	if err != nil {
		c.set(ClusterFailed, err)
		return err
	}
	stop, err := c.startNode(ctx, plane)
	if err != nil {
		plane.Stop()
		c.set(ClusterFailed, err)
		return err
	}
	c.mu.Lock()
	c.plane, c.stopNode = plane, stop
	c.mu.Unlock()
	c.set(ClusterRunning, nil)
	return nil
}

// errClosing says that the supervisor was asked to stop.
var errClosing = errors.New("the supervisor stops")

// untilClosing returns a context that ends with ctx or when the supervisor stops.
func (c *cluster) untilClosing(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	select {
	case <-c.closing:
		cancel(errClosing)
	default:
	}
	go func() {
		select {
		case <-c.closing:
			cancel(errClosing)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// startNode runs the node in the background and waits until it takes pods.
func (c *cluster) startNode(ctx context.Context, plane *controlplane.ControlPlane) (stop func(), err error) {
	// Pods of an earlier run are gone with their processes; what they left would only be in the way.
	if err := os.RemoveAll(c.home.Pods()); err != nil {
		return nil, fmt.Errorf("start the node: %w", err)
	}
	serving, err := plane.NodeTLS()
	if err != nil {
		return nil, fmt.Errorf("start the node: %w", err)
	}
	running, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan struct{})
	var ended error
	go func() {
		defer close(done)
		ended = node.Run(running, node.Options{
			Name: controlplane.NodeName, Config: plane.NodeConfig(), Version: c.version, Catalogue: c.catalogue,
			Pods: c.home.Pods(), Logs: c.home.Logs(), Listen: c.home.Listen, TLS: serving, Log: c.log,
		}, func() { close(ready) })
	}()
	select {
	case <-ready:
		go func() {
			<-done
			if running.Err() == nil {
				c.set(ClusterFailed, fmt.Errorf("the node ended: %w", ended))
			}
		}()
		return func() { cancel(); <-done }, nil
	case <-done:
		cancel()
		return nil, fmt.Errorf("start the node: %w", ended)
	case <-time.After(nodeTimeout):
		err = fmt.Errorf("start the node: it did not register within %s", nodeTimeout)
	case <-ctx.Done():
		err = fmt.Errorf("start the node: %w", context.Cause(ctx))
	}
	cancel()
	<-done
	return nil, errors.Join(err, ended)
}

// stop stops the node, its pods and the control plane. Data stays.
func (c *cluster) stop() {
	c.lifecycle.Lock()
	defer c.lifecycle.Unlock()
	c.stopLocked()
}

func (c *cluster) stopLocked() {
	c.mu.Lock()
	plane, stopNode := c.plane, c.stopNode
	c.plane, c.stopNode = nil, nil
	c.mu.Unlock()
	if stopNode != nil {
		stopNode()
	}
	if plane != nil {
		plane.Stop()
	}
	c.set(ClusterAbsent, nil)
}

func (c *cluster) get() ClusterState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

func (c *cluster) set(state ClusterState, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state, c.err = state, err
}

// Create starts the cluster for the emulated Kubernetes Engine. It adopts a control plane that was started without a
// layer, as long as nobody has used it.
func (c *cluster) Create(ctx context.Context, name string) (gcloud.ClusterAccess, error) {
	if err := c.start(ctx); err != nil {
		return gcloud.ClusterAccess{}, err
	}
	if err := c.claim(ctx, name); err != nil {
		return gcloud.ClusterAccess{}, err
	}
	c.mu.Lock()
	plane := c.plane
	c.mu.Unlock()
	if plane == nil {
		return gcloud.ClusterAccess{}, errors.New("the cluster was stopped meanwhile")
	}
	ca, cert, key, err := plane.Credentials()
	if err != nil {
		return gcloud.ClusterAccess{}, err
	}
	return gcloud.ClusterAccess{Endpoint: strings.TrimPrefix(plane.Server(), "https://"), CA: ca, ClientCertificate: cert, ClientKey: key}, nil
}

// Delete stops the cluster and erases its data. A control plane that this cluster never claimed is left alone.
func (c *cluster) Delete(_ context.Context, name string) error {
	c.lifecycle.Lock()
	defer c.lifecycle.Unlock()
	owner, err := os.ReadFile(c.claimFile())
	if err == nil && string(owner) != name || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	c.stopLocked()
	return errors.Join(controlplane.Erase(c.home), os.RemoveAll(c.home.Pods()))
}

// claim makes the control plane that of the cluster called name.
func (c *cluster) claim(ctx context.Context, name string) error {
	owner, err := os.ReadFile(c.claimFile())
	switch {
	case err == nil && string(owner) == name:
		return nil
	case err == nil:
		return fmt.Errorf("the control plane of this home belongs to cluster %s: delete that cluster first", owner)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	used, err := c.usedNamespace(ctx)
	if err != nil {
		return err
	}
	if used != "" {
		return fmt.Errorf("the control plane of this home holds a namespace %s that no layer made: delete it, or use another home", used)
	}
	return home.WriteFile(c.claimFile(), []byte(name))
}

// claimFile names the cluster that the control plane belongs to.
func (c *cluster) claimFile() string { return filepath.Join(c.home.Kubernetes(), "cluster") }

// usedNamespace names a namespace that Kubernetes itself did not make, or "".
func (c *cluster) usedNamespace(ctx context.Context) (string, error) {
	c.mu.Lock()
	plane := c.plane
	c.mu.Unlock()
	if plane == nil {
		return "", errors.New("the cluster was stopped meanwhile")
	}
	client, err := kubernetes.NewForConfig(plane.AdminConfig())
	if err != nil {
		return "", err
	}
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, ns := range list.Items {
		if ns.Name != metav1.NamespaceDefault && !strings.HasPrefix(ns.Name, "kube-") {
			return ns.Name, nil
		}
	}
	return "", nil
}
