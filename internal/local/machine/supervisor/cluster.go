package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime/processes"
	"github.com/strata-platform/strata/internal/local/machine/podnetwork/google"
	"github.com/strata-platform/strata/internal/local/machine/process"
)

// cluster is the one cluster of a home: a control plane and its node. It implements container.Runtime for the
// emulated Kubernetes Engine.
type cluster struct {
	home      home.Home
	find      controlplane.FindTool
	version   string
	catalogue processes.Catalogue
	images    *images.Images
	log       *slog.Logger
	// google is the emulated Google Cloud as pods reach it. The supervisor sets it before the first start.
	google *google.Cloud
	// googleOfPods tells sandboxed pods how they reach it.
	googleOfPods google.Access
	// closing closes when the supervisor stops. That interrupts a start in progress and prevents new ones.
	closing <-chan struct{}
	// pods holds the processes of the pods' containers.
	pods process.Set

	// lifecycle is held during a start or stop of the cluster. mu guards the fields that status reads meanwhile.
	lifecycle sync.Mutex
	mu        sync.Mutex
	state     ClusterState
	err       error
	plane     *controlplane.ControlPlane
	node      *localNode
}

// start starts the cluster unless it runs, and returns when its node accepts pods.
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
	if err := c.startParts(ctx); err != nil {
		c.stopParts()
		c.set(ClusterFailed, err)
		return err
	}
	c.set(ClusterRunning, nil)
	return nil
}

// startParts starts the control plane and the node, and waits until the node accepts pods.
func (c *cluster) startParts(ctx context.Context) error {
	plane := controlplane.New(c.home, c.find)
	c.mu.Lock()
	c.plane = plane
	c.mu.Unlock()
	if err := plane.Start(ctx); err != nil {
		return err
	}
	local, err := c.startNode(ctx, plane)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.node = local
	c.mu.Unlock()
	return plane.WaitNode(ctx)
}

// errClosing means that the supervisor is stopping.
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

// stop stops the node, its pods and the control plane. It keeps the data.
func (c *cluster) stop() {
	c.lifecycle.Lock()
	defer c.lifecycle.Unlock()
	c.stopLocked()
}

// stopLocked is stop for a caller that holds lifecycle.
func (c *cluster) stopLocked() {
	c.stopParts()
	c.set(ClusterAbsent, nil)
}

// stopParts stops the node before the control plane, so that pods can report their end.
func (c *cluster) stopParts() {
	c.mu.Lock()
	plane, local := c.plane, c.node
	c.mu.Unlock()
	if local != nil {
		local.stop()
	}
	if plane != nil {
		plane.Stop()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plane, c.node = nil, nil
}

// Admin returns the administrator's client configuration, or nil while no cluster runs.
func (c *cluster) Admin() *rest.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != ClusterRunning {
		return nil
	}
	return c.plane.AdminConfig()
}

// DialService connects to a ready pod of a Service of the cluster.
func (c *cluster) DialService(namespace, service string, port int32) (net.Conn, error) {
	c.mu.Lock()
	local := c.node
	c.mu.Unlock()
	if local == nil {
		return nil, errors.New("no cluster runs")
	}
	return local.dialService(namespace, service, port)
}

// get returns the state.
func (c *cluster) get() ClusterState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// set sets the state and the reason why the cluster does not run.
func (c *cluster) set(state ClusterState, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state, c.err = state, err
}
