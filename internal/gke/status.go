package gke

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/status"
)

// Status looks at every layer.
func (p *Platform) Status(ctx context.Context) (status.Report, error) {
	list, err := p.Teams()
	if err != nil {
		return status.Report{}, err
	}
	cluster := status.Item{Layer: status.LayerBootstrap, Kind: "Cluster"}
	config, err := p.clusterConfig(ctx)
	switch {
	case errors.Is(err, errNoCluster):
		cluster.Reason, cluster.Message = "NotMade", "layer 1 has made none: run `"+p.strataLine("up")+"`"
		return status.NewReport([]status.Item{cluster}), nil
	case err != nil:
		return status.Report{}, err
	}
	cluster.Name = p.clusterName
	if err := answers(config); err != nil {
		cluster.Reason, cluster.Message = "Unreachable", fmt.Sprintf("%s does not answer: %v", config.Host, err)
		return status.NewReport([]status.Item{cluster}), nil
	}
	cluster.Ready, cluster.Message = true, config.Host
	return status.Collect(ctx, config, status.Scope{
		Teams: list, Below: []status.Item{cluster}, Engineer: engineer(), Flags: p.strataLine("")[len("strata "):], Kubectl: p.kubectl(),
	})
}

// answerTimeout is how long the cluster's API may take to answer.
const answerTimeout = 10 * time.Second

// answers tells why the cluster's API does not answer, if it does not.
func answers(config *rest.Config) error {
	short := rest.CopyConfig(config)
	short.Timeout = answerTimeout
	client, err := discovery.NewDiscoveryClientForConfig(short)
	if err == nil {
		_, err = client.ServerVersion()
	}
	return err
}

const (
	readyTimeout = 15 * time.Minute
	readyPoll    = 2 * time.Second
)

// WaitReady waits until every layer is ready. waiting is told what is waited for.
func (p *Platform) WaitReady(ctx context.Context, waiting func(status.Item)) (status.Report, error) {
	bounded, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	var last status.Report
	var asker status.Asker
	for {
		report, err := p.Status(bounded)
		if err == nil && report.Ready {
			return report, nil
		}
		if err == nil {
			last = report
			// What cannot be asked for comes with the interval of its sync.
			if config, err := p.clusterConfig(bounded); err == nil {
				_ = asker.Ask(bounded, config, report)
			}
			if cause, ok := report.RootCause(); ok {
				waiting(cause)
			}
		}
		select {
		case <-time.After(readyPoll):
		case <-bounded.Done():
			if ctx.Err() != nil {
				return last, ctx.Err()
			}
			cause, ok := last.RootCause()
			if !ok {
				return last, fmt.Errorf("wait for the platform: %w", errors.Join(bounded.Err(), err))
			}
			return last, fmt.Errorf("the platform is not ready after %s: %s: run `%s` for the rest", readyTimeout, cause, p.strataLine("status"))
		}
	}
}
