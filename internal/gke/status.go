package gke

import (
	"context"
	"fmt"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/teams"
)

// Below returns the cluster, and its client configuration if its API answers.
func (p *Platform) Below(ctx context.Context) ([]status.Item, *rest.Config, error) {
	config, err := p.Config(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	cluster := status.Item{Layer: status.LayerBootstrap, Kind: "Cluster"}
	if config == nil {
		cluster.Reason, cluster.Message = status.ReasonNotCreated, "layer 1 has created no cluster yet: run `"+p.strataLine("up")+"`"
		return []status.Item{cluster}, nil, nil
	}
	cluster.Name = p.clusterName
	if err := answers(config); err != nil {
		cluster.Reason = lifecycle.Unreachable(err)
		cluster.Message = fmt.Sprintf("%s does not answer: %v: `%s` creates a lost cluster again", config.Host, err, p.strataLine("up"))
		return []status.Item{cluster}, nil, nil
	}
	cluster.Ready, cluster.Message = true, config.Host
	return []status.Item{cluster}, config, nil
}

// answers returns the error of a request to the cluster's API, or nil.
func answers(config *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(lifecycle.Brief(config))
	if err == nil {
		_, err = client.ServerVersion()
	}
	return err
}

// Heads returns nil: only the hosts of the repositories know the latest commits.
func (p *Platform) Heads([]teams.Team) map[string]string { return nil }

// Alive returns nil: no process of this machine keeps the platform alive.
func (p *Platform) Alive(context.Context) error { return nil }
