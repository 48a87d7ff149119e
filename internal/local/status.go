package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-platform/strata/internal/local/supervisor"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/platform"
)

// fluxNamespace is where Flux lives.
const fluxNamespace = "flux-system"

// namespaces says which namespaces belong to which layer.
func (p *Platform) namespaces() (status.Namespaces, error) {
	list, err := p.Teams()
	if err != nil {
		return status.Namespaces{}, err
	}
	n := status.Namespaces{Flux: fluxNamespace, Platform: platform.PlatformNamespace, Operator: platform.OperatorNamespace}
	for _, team := range list {
		n.Teams = append(n.Teams, team.Namespace())
	}
	return n, nil
}

// AdminConfig is a client configuration for the cluster's administrator.
func (p *Platform) AdminConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", p.Home.AdminKubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	// The limits of a shared cluster would only slow this down.
	config.QPS, config.Burst = 100, 200
	return config, nil
}

// Status looks at every layer.
func (p *Platform) Status(ctx context.Context) (status.Report, error) {
	cluster := status.Item{Layer: status.LayerBootstrap, Kind: "Cluster", Name: clusterName}
	s, err := p.client.Status(ctx)
	if err != nil && !errors.Is(err, supervisor.ErrNotRunning) {
		return status.Report{}, err
	}
	switch {
	case err != nil:
		cluster.Reason, cluster.Message = "NotRunning", "nothing runs in "+p.Home.Dir()+": run `strata up`"
	case s.Cluster != supervisor.ClusterRunning:
		cluster.Reason, cluster.Message = string(s.Cluster), s.ClusterError
	default:
		cluster.Ready, cluster.Message = true, s.Server
	}
	items := []status.Item{cluster}
	if cluster.Ready {
		config, err := p.AdminConfig()
		if err != nil {
			return status.Report{}, err
		}
		namespaces, err := p.namespaces()
		if err != nil {
			return status.Report{}, err
		}
		above, err := status.Collect(ctx, config, namespaces)
		if err != nil {
			return status.Report{}, err
		}
		items = append(items, above...)
	}
	return status.NewReport(items), nil
}

// clusterName is the name of the cluster that layer 1 makes.
const clusterName = "strata"

const (
	readyTimeout = 5 * time.Minute
	readyPoll    = 250 * time.Millisecond
)

// WaitReady waits until every layer is ready. waiting is told what is waited for.
func (p *Platform) WaitReady(ctx context.Context, waiting func(status.Item)) (status.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	var last status.Report
	for {
		report, err := p.Status(ctx)
		if err == nil && report.Ready {
			return report, nil
		}
		if err == nil {
			last = report
			if cause, ok := report.RootCause(); ok {
				waiting(cause)
			}
		}
		select {
		case <-time.After(readyPoll):
		case <-ctx.Done():
			cause, ok := last.RootCause()
			if !ok {
				return last, fmt.Errorf("wait for the platform: %w", errors.Join(ctx.Err(), err))
			}
			return last, fmt.Errorf("the platform is not ready after %s: %s: run `strata status` for the rest", readyTimeout, cause)
		}
	}
}
