package local

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/pulumienv"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/local/tools"
	"github.com/strata-platform/strata/internal/progress"
)

// StartCluster starts the control plane and its node without any layer.
func (p *Platform) StartCluster(ctx context.Context, show *progress.Reporter) error {
	release, err := p.Lock()
	if err != nil {
		return err
	}
	defer release()
	// The builds take minutes the first time, so they precede the start, whose parts have timeouts.
	err = show.Run("toolchain", func() (string, error) {
		return "", tools.Ensure(ctx, p.Toolchain, show, slices.Concat(tools.ControlPlane, pulumienv.Tools)...)
	})
	if err != nil {
		return err
	}
	return show.Run("control plane and node", func() (string, error) {
		if _, err := p.Start(ctx); err != nil {
			return "", err
		}
		waiting, done := context.WithCancel(ctx)
		defer done()
		go p.showWaiting(waiting, show)
		return "ready", p.client.StartCluster(ctx)
	})
}

// startClusterEarly starts the control plane in the background if layer 1 has no resources. The cluster that layer 1 then
// creates is ready seconds earlier. If this start fails, the one for layer 1 fails, too, and reports the reason.
func (p *Platform) startClusterEarly(ctx context.Context) {
	if state, err := p.State(ctx, lifecycle.BootstrapLayer); err == nil && len(state.Resources) == 0 {
		go func() { _ = p.client.StartCluster(ctx) }()
	}
}

// showWaiting shows what the cluster's start waits for, until ctx is done.
func (p *Platform) showWaiting(ctx context.Context, show *progress.Reporter) {
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if s, err := p.client.Status(ctx); err == nil && s.Waiting != "" {
				show.Detail("waiting for %s", s.Waiting)
			}
		}
	}
}

// clusterState is the state of the home's cluster.
type clusterState int

const (
	noCluster      clusterState = iota // no control plane has started since the creation of the home or the last Delete
	stoppedCluster                     // the home has the data of a cluster
	runningCluster
)

// clusterState returns the state of the cluster. A cluster that does not run is stopped if the home has its kubeconfig.
func (p *Platform) clusterState(ctx context.Context) (clusterState, error) {
	running, err := p.client.Status(ctx)
	switch {
	case err != nil && !errors.Is(err, supervisor.ErrNotRunning):
		return noCluster, err
	case err == nil && running.Cluster == supervisor.ClusterRunning:
		return runningCluster, nil
	}
	if _, err := os.Stat(p.Home.AdminKubeconfig()); errors.Is(err, os.ErrNotExist) {
		return noCluster, nil
	}
	return stoppedCluster, nil
}
