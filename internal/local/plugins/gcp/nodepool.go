package gcp

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	sdk "github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/container"
	"google.golang.org/api/container/v1"

	"github.com/strata-platform/strata/internal/local/plugins/provider"
)

type nodePoolArgs struct {
	Autoscaling      *container.NodePoolAutoscaling `json:"autoscaling,omitempty"`
	Cluster          string                         `json:"cluster"`
	InitialNodeCount int64                          `json:"initialNodeCount,omitempty"`
	Location         string                         `json:"location"`
	Management       *container.NodeManagement      `json:"management,omitempty"`
	MaxPodsPerNode   int64                          `json:"maxPodsPerNode,omitempty"`
	Name             string                         `json:"name"`
	NodeConfig       *container.NodeConfig          `json:"nodeConfig,omitempty"`
	NodeCount        *int64                         `json:"nodeCount,omitempty"`
	NodeLocations    []string                       `json:"nodeLocations,omitempty"`
	Project          string                         `json:"project"`
	UpgradeSettings  *container.UpgradeSettings     `json:"upgradeSettings,omitempty"`
	Version          string                         `json:"version,omitempty"`
}

type nodePoolState struct {
	nodePoolArgs
	InstanceGroupUrls        []string `json:"instanceGroupUrls"`
	ManagedInstanceGroupUrls []string `json:"managedInstanceGroupUrls"`
}

type nodePoolRequest = provider.Request[nodePoolArgs, nodePoolState]

var nodePoolIDPatterns = []*regexp.Regexp{
	regexp.MustCompile(`^projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)/clusters/(?P<cluster>[^/]+)/nodePools/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<project>[^/]+)/(?P<location>[^/]+)/(?P<cluster>[^/]+)/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<location>[^/]+)/(?P<cluster>[^/]+)/(?P<name>[^/]+)$`),
}

func (g *plugin) nodePool() provider.Resource {
	return provider.Resource{
		Args:     sdk.NodePoolArgs{},
		State:    sdk.NodePool{},
		Identity: []string{"name", "cluster", "location", "project"},
		Replace: append([]string{
			"cluster", "initialNodeCount", "location", "maxPodsPerNode", "name", "namePrefix",
			"networkConfig.createPodRange", "networkConfig.additionalNodeNetworkConfigs",
			"networkConfig.additionalPodNetworkConfigs", "networkConfig.podCidrOverprovisionConfig", "networkConfig.podIpv4CidrBlock",
			"networkConfig.podRange", "placementPolicy", "project", "queuedProvisioning",
		}, replacedNodeConfig()...),
		Computed: []string{
			"initialNodeCount", "location", "management", "maxPodsPerNode", "networkConfig", "nodeConfig", "nodeCount",
			"nodeLocations", "project", "upgradeSettings", "version",
		},
		AutoName: &provider.AutoName{Property: "name", MaxLength: clusterNameLength},
		Operations: provider.Handle(provider.CRUD[nodePoolArgs, nodePoolState]{
			Create: g.createNodePool,
			Read: func(ctx context.Context, r nodePoolRequest) (string, nodePoolState, error) {
				parts, err := parseID(r.ID, nodePoolIDPatterns)
				if err != nil {
					return "", nodePoolState{}, err
				}
				project, err := g.project(parts["project"])
				if err != nil {
					return "", nodePoolState{}, err
				}
				id := clusterName(project, parts["location"], parts["cluster"]) + "/nodePools/" + parts["name"]
				state, err := g.liveNodePool(ctx, id)
				if err == nil && !r.Importing {
					state.Cluster = r.State.Cluster
				}
				return id, state, err
			},
			Update: g.updateNodePool,
			Delete: func(ctx context.Context, r nodePoolRequest) error {
				return g.clusterCall(ctx, r.State.Project, r.State.Location, r.Timeout, func(svc *container.Service) (*container.Operation, error) {
					return svc.Projects.Locations.Clusters.NodePools.Delete(r.ID).Context(ctx).Do()
				})
			},
		}),
	}
}

// clusterOf returns where the cluster of a node pool is. The program names it by its name or by its ID.
func (g *plugin) clusterOf(a nodePoolArgs) (project, location, cluster string, err error) {
	cluster = a.Cluster
	if strings.Contains(a.Cluster, "/") {
		parts, err := parseID(a.Cluster, clusterIDPatterns)
		if err != nil {
			return "", "", "", err
		}
		a.Project, a.Location, cluster = first(a.Project, parts["project"]), first(a.Location, parts["location"]), parts["name"]
	}
	if project, err = g.project(a.Project); err != nil {
		return "", "", "", err
	}
	location, err = g.location(a.Location)
	return project, location, cluster, err
}

func (g *plugin) createNodePool(ctx context.Context, r nodePoolRequest) (string, nodePoolState, error) {
	project, location, cluster, err := g.clusterOf(r.Args)
	if err != nil {
		return "", nodePoolState{}, err
	}
	a, parent, started := r.Args, clusterName(project, location, cluster), false
	pool := &container.NodePool{
		Name: a.Name, Autoscaling: enabled(a.Autoscaling), Config: a.NodeConfig, InitialNodeCount: a.InitialNodeCount,
		Locations: a.NodeLocations, Management: a.Management, UpgradeSettings: a.UpgradeSettings, Version: a.Version,
		ForceSendFields: []string{"InitialNodeCount"},
	}
	if a.NodeCount != nil {
		pool.InitialNodeCount = *a.NodeCount
	}
	if a.MaxPodsPerNode > 0 {
		pool.MaxPodsConstraint = &container.MaxPodsConstraint{MaxPodsPerNode: a.MaxPodsPerNode}
	}
	err = g.clusterCall(ctx, project, location, r.Timeout, func(svc *container.Service) (*container.Operation, error) {
		op, err := svc.Projects.Locations.Clusters.NodePools.Create(parent, &container.CreateNodePoolRequest{NodePool: pool}).Context(ctx).Do()
		started = err == nil
		return op, err
	})
	id := parent + "/nodePools/" + a.Name
	a.Project, a.Location = project, location
	switch {
	case err != nil && !started:
		return "", nodePoolState{}, err
	case err != nil:
		return id, nodePoolState{nodePoolArgs: a}, err
	}
	live, err := g.liveNodePool(ctx, id)
	if err != nil {
		return id, nodePoolState{nodePoolArgs: a}, err
	}
	live.Cluster = a.Cluster
	return id, live, nil
}

func (g *plugin) liveNodePool(ctx context.Context, id string) (nodePoolState, error) {
	svc, err := g.clients.container(ctx)
	if err != nil {
		return nodePoolState{}, fmt.Errorf("make Kubernetes Engine client: %w", err)
	}
	p, err := svc.Projects.Locations.Clusters.NodePools.Get(id).Context(ctx).Do()
	if err != nil {
		return nodePoolState{}, explained(err)
	}
	parts, err := parseID(id, nodePoolIDPatterns)
	if err != nil {
		return nodePoolState{}, err
	}
	state := nodePoolState{
		nodePoolArgs: nodePoolArgs{
			Cluster: parts["cluster"], InitialNodeCount: p.InitialNodeCount, Location: parts["location"],
			Management: p.Management, Name: p.Name, NodeConfig: p.Config, NodeLocations: p.Locations, Project: parts["project"],
			UpgradeSettings: p.UpgradeSettings, Version: p.Version,
		},
		InstanceGroupUrls: p.InstanceGroupUrls, ManagedInstanceGroupUrls: p.InstanceGroupUrls,
	}
	if p.Autoscaling != nil && p.Autoscaling.Enabled {
		state.Autoscaling = p.Autoscaling
	}
	if p.MaxPodsConstraint != nil {
		state.MaxPodsPerNode = p.MaxPodsConstraint.MaxPodsPerNode
	}
	return state, nil
}

// enabled says that autoscaling is in force, which Pulumi's spelling leaves out.
func enabled(a *container.NodePoolAutoscaling) *container.NodePoolAutoscaling {
	if a == nil {
		return nil
	}
	wanted := *a
	wanted.Enabled = true
	wanted.ForceSendFields = append(wanted.ForceSendFields, "MinNodeCount")
	return &wanted
}

func (g *plugin) updateNodePool(ctx context.Context, r nodePoolRequest) (nodePoolState, error) {
	a, old := r.Args, r.Old
	call := func(start func(*container.ProjectsLocationsClustersNodePoolsService) (*container.Operation, error)) error {
		return g.clusterCall(ctx, r.State.Project, r.State.Location, r.Timeout, func(svc *container.Service) (*container.Operation, error) {
			return start(svc.Projects.Locations.Clusters.NodePools)
		})
	}
	var errs []error
	if differ(a.Autoscaling, old.Autoscaling) {
		wanted := enabled(a.Autoscaling)
		if wanted == nil {
			wanted = &container.NodePoolAutoscaling{ForceSendFields: []string{"Enabled"}}
		}
		errs = append(errs, call(func(pools *container.ProjectsLocationsClustersNodePoolsService) (*container.Operation, error) {
			return pools.SetAutoscaling(r.ID, &container.SetNodePoolAutoscalingRequest{Autoscaling: wanted}).Context(ctx).Do()
		}))
	}
	if a.NodeCount != nil && differ(a.NodeCount, old.NodeCount) {
		errs = append(errs, call(func(pools *container.ProjectsLocationsClustersNodePoolsService) (*container.Operation, error) {
			return pools.SetSize(r.ID, &container.SetNodePoolSizeRequest{NodeCount: *a.NodeCount, ForceSendFields: []string{"NodeCount"}}).Context(ctx).Do()
		}))
	}
	if a.Management != nil && differ(a.Management, old.Management) {
		errs = append(errs, call(func(pools *container.ProjectsLocationsClustersNodePoolsService) (*container.Operation, error) {
			return pools.SetManagement(r.ID, &container.SetNodePoolManagementRequest{Management: a.Management}).Context(ctx).Do()
		}))
	}
	if change := nodePoolChange(a, old); change != nil {
		errs = append(errs, call(func(pools *container.ProjectsLocationsClustersNodePoolsService) (*container.Operation, error) {
			return pools.Update(r.ID, change).Context(ctx).Do()
		}))
	}
	if err := errors.Join(errs...); err != nil {
		return nodePoolState{}, err
	}
	state, err := g.liveNodePool(ctx, r.ID)
	state.Cluster = a.Cluster
	return state, err
}

// nodePoolChange collects what the service's own update call can change, or returns nil.
func nodePoolChange(a, old nodePoolArgs) *container.UpdateNodePoolRequest {
	change := &container.UpdateNodePoolRequest{}
	if a.Version != old.Version {
		change.NodeVersion = a.Version
	}
	if differ(a.NodeLocations, old.NodeLocations) {
		change.Locations = a.NodeLocations
	}
	if differ(a.UpgradeSettings, old.UpgradeSettings) {
		change.UpgradeSettings = a.UpgradeSettings
	}
	if c := a.NodeConfig; c != nil && differ(c, old.NodeConfig) {
		change.DiskSizeGb, change.DiskType, change.ImageType, change.MachineType = c.DiskSizeGb, c.DiskType, c.ImageType, c.MachineType
		change.Labels = &container.NodeLabels{Labels: c.Labels, ForceSendFields: []string{"Labels"}}
		change.Tags = &container.NetworkTags{Tags: c.Tags, ForceSendFields: []string{"Tags"}}
		change.Taints = &container.NodeTaints{Taints: c.Taints, ForceSendFields: []string{"Taints"}}
		change.ResourceLabels = &container.ResourceLabels{Labels: c.ResourceLabels, ForceSendFields: []string{"Labels"}}
		change.WorkloadMetadataConfig = c.WorkloadMetadataConfig
	}
	if !differ(change, &container.UpdateNodePoolRequest{}) {
		return nil
	}
	return change
}
