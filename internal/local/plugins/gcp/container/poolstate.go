package container

import (
	"cmp"
	"context"
	"fmt"
	"regexp"

	"google.golang.org/api/container/v1"

	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// poolState are the outputs that the node pool resource and a node pool within a cluster have in common.
type poolState struct {
	poolArgs
	InstanceGroupUrls        []string `json:"instanceGroupUrls"`
	ManagedInstanceGroupUrls []string `json:"managedInstanceGroupUrls"`
}

func (g provider) readNodePool(ctx context.Context, r nodePoolRequest) (string, nodePoolState, error) {
	parts, err := core.ParseID(r.ID, nodePoolIDPatterns)
	if err != nil {
		return "", nodePoolState{}, err
	}
	project, err := g.Project(parts["project"])
	if err != nil {
		return "", nodePoolState{}, err
	}
	id := clusterName(project, parts["location"], parts["cluster"]) + "/nodePools/" + parts["name"]
	live, err := g.livePool(ctx, id)
	return id, nodePoolState{
		poolState: live, Cluster: cmp.Or(r.State.Cluster, parts["cluster"]), Location: parts["location"], Project: project,
	}, err
}

// livePool returns the current state of a node pool.
func (g provider) livePool(ctx context.Context, id string) (poolState, error) {
	svc, err := g.Container(ctx)
	if err != nil {
		return poolState{}, err
	}
	p, err := svc.Projects.Locations.Clusters.NodePools.Get(id).Context(ctx).Do()
	if err != nil {
		return poolState{}, core.Explain(err)
	}
	return g.poolOf(ctx, p)
}

// instanceGroupManager matches the end of the URL of an instance group.
var instanceGroupManager = regexp.MustCompile(`projects/([^/]+)/zones/([^/]+)/instanceGroupManagers/([^/]+)$`)

// poolOf converts a node pool from the API's form to Pulumi's. Like the official provider, it reads the number of nodes
// from the instance groups, because the API's node pool contains only the initial number. NodeCount is the number of
// nodes in each zone.
func (g provider) poolOf(ctx context.Context, p *container.NodePool) (poolState, error) {
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
	svc, err := g.Compute(ctx)
	if err != nil {
		return state, err
	}
	var size int64
	for _, url := range p.InstanceGroupUrls {
		parts := instanceGroupManager.FindStringSubmatch(url)
		if parts == nil {
			return state, fmt.Errorf("unknown form of the URL of an instance group: %s", url)
		}
		m, err := svc.InstanceGroupManagers.Get(parts[1], parts[2], parts[3]).Context(ctx).Do()
		if core.NotFound(err) {
			continue
		}
		if err != nil {
			return state, fmt.Errorf("read instance group %s: %w", parts[3], core.Explain(err))
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
