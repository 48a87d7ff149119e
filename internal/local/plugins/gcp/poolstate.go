package gcp

import (
	"context"
	"fmt"
	"regexp"

	"google.golang.org/api/container/v1"
)

type poolState struct {
	poolArgs
	InstanceGroupUrls        []string `json:"instanceGroupUrls"`
	ManagedInstanceGroupUrls []string `json:"managedInstanceGroupUrls"`
}

func (g *plugin) readNodePool(ctx context.Context, r nodePoolRequest) (string, nodePoolState, error) {
	parts, err := parseID(r.ID, nodePoolIDPatterns)
	if err != nil {
		return "", nodePoolState{}, err
	}
	project, err := g.project(parts["project"])
	if err != nil {
		return "", nodePoolState{}, err
	}
	id := clusterName(project, parts["location"], parts["cluster"]) + "/nodePools/" + parts["name"]
	live, err := g.livePool(ctx, id)
	return id, nodePoolState{
		poolState: live, Cluster: first(r.State.Cluster, parts["cluster"]), Location: parts["location"], Project: project,
	}, err
}

// livePool returns a node pool as the service has it.
func (g *plugin) livePool(ctx context.Context, id string) (poolState, error) {
	svc, err := g.clients.container(ctx)
	if err != nil {
		return poolState{}, fmt.Errorf("make Kubernetes Engine client: %w", err)
	}
	p, err := svc.Projects.Locations.Clusters.NodePools.Get(id).Context(ctx).Do()
	if err != nil {
		return poolState{}, explained(err)
	}
	return g.poolOf(ctx, p)
}

// instanceGroupManager matches the end of the URL of a node pool's instance group.
var instanceGroupManager = regexp.MustCompile(`projects/([^/]+)/zones/([^/]+)/instanceGroupManagers/([^/]+)$`)

// poolOf converts a node pool from the API's form to Pulumi's. It reads the number of nodes from the pool's instance
// groups, as the official provider does, because the pool does not contain it.
func (g *plugin) poolOf(ctx context.Context, p *container.NodePool) (poolState, error) {
	state := poolState{
		poolArgs: poolArgs{
			InitialNodeCount: p.InitialNodeCount, Management: p.Management, Name: p.Name, NetworkConfig: p.NetworkConfig,
			NodeConfig: nodeConfigOf(p.Config), NodeLocations: p.Locations, PlacementPolicy: p.PlacementPolicy,
			QueuedProvisioning: p.QueuedProvisioning, UpgradeSettings: p.UpgradeSettings, Version: p.Version,
		},
		InstanceGroupUrls: []string{}, ManagedInstanceGroupUrls: []string{},
	}
	if p.Autoscaling != nil && p.Autoscaling.Enabled {
		state.Autoscaling = p.Autoscaling
	}
	if p.MaxPodsConstraint != nil {
		state.MaxPodsPerNode = p.MaxPodsConstraint.MaxPodsPerNode
	}
	if len(p.InstanceGroupUrls) == 0 {
		return state, nil
	}
	svc, err := g.clients.compute(ctx)
	if err != nil {
		return state, fmt.Errorf("make Compute Engine client: %w", err)
	}
	var size int64
	for _, url := range p.InstanceGroupUrls {
		parts := instanceGroupManager.FindStringSubmatch(url)
		if parts == nil {
			return state, fmt.Errorf("the URL of an instance group is of an unknown form: %s", url)
		}
		m, err := svc.InstanceGroupManagers.Get(parts[1], parts[2], parts[3]).Context(ctx).Do()
		if gone(err) {
			continue
		}
		if err != nil {
			return state, fmt.Errorf("read instance group %s: %w", parts[3], explained(err))
		}
		size += m.TargetSize
		state.InstanceGroupUrls = append(state.InstanceGroupUrls, url)
		state.ManagedInstanceGroupUrls = append(state.ManagedInstanceGroupUrls, m.InstanceGroup)
	}
	if n := int64(len(state.InstanceGroupUrls)); n > 0 {
		size /= n
	}
	state.NodeCount = &size
	return state, nil
}
