package local

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/pulumienv"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/progress"
)

// StartCluster starts the control plane and its node without any layer.
func (p *Platform) StartCluster(ctx context.Context, show *progress.Reporter) error {
	release, err := p.Lock()
	if err != nil {
		return err
	}
	defer release()
	err = show.Run("toolchain", func() (string, error) {
		return "", p.EnsureTools(ctx, show, append(ControlPlaneTools, pulumienv.Tools...)...)
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
	noCluster clusterState = iota
	stoppedCluster
	runningCluster
)

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
