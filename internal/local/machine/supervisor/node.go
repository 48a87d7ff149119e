package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/node"
	"github.com/strata-platform/strata/internal/local/machine/podnetwork"
	"github.com/strata-platform/strata/internal/local/machine/provisioner"
	"github.com/strata-platform/strata/internal/local/machine/storage"
)

const (
	// nodeTimeout is how long a node may take to register.
	nodeTimeout = time.Minute
	// The delay before a restart of a failed node doubles from minNodeBackoff to maxNodeBackoff.
	minNodeBackoff = time.Second
	maxNodeBackoff = 30 * time.Second
)

// localNode is the node of the cluster. It runs in this process until stop, and restarts after a failure.
type localNode struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu       sync.Mutex
	restarts int
	lastErr  error
	// node is the running node, or the last one.
	node *node.Node
}

// startNode starts the node and the volume provisioner for its pods in the background. It returns when the node has
// registered.
func (c *cluster) startNode(ctx context.Context, plane *controlplane.ControlPlane) (*localNode, error) {
	// The pods of an earlier run have ended with their processes. Their files would only interfere.
	if err := os.RemoveAll(c.home.Pods()); err != nil {
		return nil, fmt.Errorf("start the node: %w", err)
	}
	serving, err := plane.NodeTLS()
	if err != nil {
		return nil, fmt.Errorf("start the node: %w", err)
	}
	running, cancel := context.WithCancel(context.Background())
	pods, err := podnetwork.Start(ctx, podnetwork.Options{Home: c.home, Plane: plane, NodePort: node.PortName, Google: c.google, Log: c.log})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("start the node: %w", err)
	}
	options := node.Options{
		Name: controlplane.NodeName, Config: plane.NodeConfig(), Version: c.version, Catalogue: c.catalogue,
		Network: pods.Gateway, Images: c.images, Google: c.googleOfPods,
		Runsc: func(ctx context.Context) (string, error) { return c.find(ctx, "runsc") },
		Pods:  c.home.Pods(), Volumes: storage.Folder(c.home.Volumes()), Logs: c.home.Logs(), Processes: &c.pods, Listen: c.home.Listen, TLS: serving, Log: c.log,
	}
	// The provisioner runs until the node stops, because pods wait for its volumes.
	if err := provisioner.Start(running, provisioner.Options{
		Config: plane.AdminConfig(), Volumes: storage.Folder(c.home.Volumes()), Node: controlplane.NodeName, Log: c.log,
	}); err != nil {
		cancel()
		pods.Close()
		return nil, fmt.Errorf("start the node: %w", err)
	}
	n := &localNode{cancel: cancel, done: make(chan struct{})}
	ready, first := make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		defer close(n.done)
		defer pods.Close()
		n.run(running, func() error {
			err := node.Run(running, options, func(up *node.Node) {
				n.mu.Lock()
				n.node = up
				n.mu.Unlock()
				once.Do(func() { close(ready) })
			})
			select {
			case first <- err:
			default:
			}
			return err
		})
	}()
	select {
	case <-ready:
		return n, nil
	case err = <-first:
	case <-time.After(nodeTimeout):
		err = fmt.Errorf("it did not register within %s", nodeTimeout)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	n.stop()
	return nil, fmt.Errorf("start the node: %w", err)
}

// run runs the node and restarts it until ctx is done.
func (n *localNode) run(ctx context.Context, node func() error) {
	backoff := minNodeBackoff
	for {
		began := time.Now()
		err := node()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("the node ended by itself")
		}
		if time.Since(began) > 2*maxNodeBackoff {
			backoff = minNodeBackoff
		}
		n.mu.Lock()
		n.restarts++
		n.lastErr = err
		n.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, maxNodeBackoff)
	}
}

// stop stops the node and its pods.
func (n *localNode) stop() {
	n.cancel()
	<-n.done
}

// dialService connects to a ready pod of a Service.
func (n *localNode) dialService(namespace, service string, port int32) (net.Conn, error) {
	n.mu.Lock()
	up := n.node
	n.mu.Unlock()
	return up.DialService(namespace, service, port)
}

// state returns the number of restarts and the last error.
func (n *localNode) state() (restarts int, lastErr error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.restarts, n.lastErr
}
