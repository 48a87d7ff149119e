package gcp

import (
	"context"
	"regexp"

	sdk "github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/container"
	"google.golang.org/api/container/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
)

// poolArgs are the inputs common to the node pool resource and to a node pool within a cluster.
type poolArgs struct {
	Autoscaling        *container.NodePoolAutoscaling `json:"autoscaling,omitempty"`
	InitialNodeCount   int64                          `json:"initialNodeCount,omitempty"`
	Management         *container.NodeManagement      `json:"management,omitempty"`
	MaxPodsPerNode     int64                          `json:"maxPodsPerNode,omitempty"`
	Name               string                         `json:"name"`
	NetworkConfig      *container.NodeNetworkConfig   `json:"networkConfig,omitempty"`
	NodeConfig         *nodeConfig                    `json:"nodeConfig,omitempty"`
	NodeCount          *int64                         `json:"nodeCount,omitempty"`
	NodeLocations      []string                       `json:"nodeLocations,omitempty"`
	PlacementPolicy    *container.PlacementPolicy     `json:"placementPolicy,omitempty"`
	QueuedProvisioning *container.QueuedProvisioning  `json:"queuedProvisioning,omitempty"`
	UpgradeSettings    *container.UpgradeSettings     `json:"upgradeSettings,omitempty"`
	Version            string                         `json:"version,omitempty"`
}

type nodePoolArgs struct {
	poolArgs
	Cluster  string `json:"cluster"`
	Location string `json:"location"`
	Project  string `json:"project"`
}

type nodePoolState struct {
	poolState
	Cluster  string `json:"cluster"`
	Location string `json:"location"`
	Project  string `json:"project"`
}

type nodePoolRequest = frame.Request[nodePoolArgs, nodePoolState]

var nodePoolIDPatterns = []*regexp.Regexp{
	regexp.MustCompile(`^projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)/clusters/(?P<cluster>[^/]+)/nodePools/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<project>[^/]+)/(?P<location>[^/]+)/(?P<cluster>[^/]+)/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<location>[^/]+)/(?P<cluster>[^/]+)/(?P<name>[^/]+)$`),
}

func (g *plugin) nodePool() frame.Resource {
	return frame.Resource{
		Args:  sdk.NodePoolArgs{},
		State: sdk.NodePool{},
		Rules: frame.Rules{
			"cluster":  {Replace: true},
			"location": fromProvider(),
			"project":  fromProvider(),
		}.With("", poolRules()),
		Identity: []string{"name", "cluster", "location", "project"},
		AutoName: "name",
		Operations: frame.Handle(frame.CRUD[nodePoolArgs, nodePoolState]{
			Check: func(args nodePoolArgs) []frame.Failure {
				if args.InitialNodeCount > 0 && args.NodeCount != nil && *args.NodeCount > 0 {
					return []frame.Failure{{Path: "nodeCount", Reason: "nodeCount cannot stand beside initialNodeCount: remove one of them"}}
				}
				return nil
			},
			Create: g.createNodePool,
			Read:   g.readNodePool,
			Update: g.updateNodePool,
			Delete: func(ctx context.Context, r nodePoolRequest) error {
				return g.clusterCall(ctx, r.State.Project, r.State.Location, r.Timeout, func(svc *container.Service) (*container.Operation, error) {
					return svc.Projects.Locations.Clusters.NodePools.Delete(r.ID).Context(ctx).Do()
				})
			},
		}),
	}
}

// poolRules returns the rules common to the node pool resource and to a node pool within a cluster.
func poolRules() frame.Rules {
	replace, computed := frame.Rule{Replace: true}, frame.Rule{Computed: true}
	both := frame.Rule{Replace: true, Computed: true}
	return frame.Rules{
		"autoscaling.locationPolicy":    {Computed: true, OneOf: []string{"BALANCED", "ANY"}},
		"autoscaling.maxNodeCount":      {Range: frame.AtLeast(0)},
		"autoscaling.minNodeCount":      {Range: frame.AtLeast(0)},
		"autoscaling.totalMaxNodeCount": {Range: frame.AtLeast(0)},
		"autoscaling.totalMinNodeCount": {Range: frame.AtLeast(0)},
		"management":                    {Computed: true},
		"management.autoRepair":         {Default: true},
		"management.autoUpgrade":        {Default: true},
		"namePrefix":                    {Replace: true, Computed: true, Excludes: []string{"name"}},
		"nodeConfig":                    {Replace: true, Computed: true},
		"nodeCount":                     {Computed: true, Range: frame.AtLeast(0)},
		"nodeLocations":                 {Computed: true, Set: true},
		"upgradeSettings.maxSurge":      {Computed: true, Range: frame.AtLeast(0)},
		"upgradeSettings.strategy":      {Default: "SURGE", OneOf: []string{"SURGE", "BLUE_GREEN"}},
	}.Each(replace, `
		networkConfig.additionalNodeNetworkConfigs networkConfig.additionalNodeNetworkConfigs.network
		networkConfig.additionalNodeNetworkConfigs.subnetwork networkConfig.additionalPodNetworkConfigs
		networkConfig.additionalPodNetworkConfigs.secondaryPodRange networkConfig.additionalPodNetworkConfigs.subnetwork
		networkConfig.createPodRange placementPolicy placementPolicy.policyName queuedProvisioning queuedProvisioning.enabled
	`).Each(both, `
		initialNodeCount maxPodsPerNode name networkConfig.additionalPodNetworkConfigs.maxPodsPerNode
		networkConfig.podCidrOverprovisionConfig networkConfig.podIpv4CidrBlock networkConfig.podRange
	`).Each(computed, `
		instanceGroupUrls managedInstanceGroupUrls networkConfig networkConfig.enablePrivateNodes upgradeSettings upgradeSettings.blueGreenSettings
		upgradeSettings.blueGreenSettings.nodePoolSoakDuration upgradeSettings.blueGreenSettings.standardRolloutPolicy.batchNodeCount
		upgradeSettings.blueGreenSettings.standardRolloutPolicy.batchPercentage
		upgradeSettings.blueGreenSettings.standardRolloutPolicy.batchSoakDuration upgradeSettings.maxUnavailable version
	`).With("nodeConfig", nodeConfigRules())
}

// clusterOf returns the project, location and name of a node pool's cluster. The program gives the cluster's name or
// its ID.
func (g *plugin) clusterOf(a nodePoolArgs) (project, location, cluster string, err error) {
	if parts, err := parseID(a.Cluster, clusterIDPatterns[:1]); err == nil {
		return parts["project"], parts["location"], parts["name"], nil
	}
	if project, err = g.project(a.Project); err != nil {
		return "", "", "", err
	}
	location, err = g.location(a.Location)
	return project, location, a.Cluster, err
}

// api returns a new node pool in the API's form.
func (a *poolArgs) api() *container.NodePool {
	pool := &container.NodePool{
		Name: a.Name, Autoscaling: enabled(a.Autoscaling), Config: a.NodeConfig.api(), InitialNodeCount: a.InitialNodeCount,
		Locations: a.NodeLocations, Management: a.Management, NetworkConfig: a.NetworkConfig, PlacementPolicy: a.PlacementPolicy,
		QueuedProvisioning: a.QueuedProvisioning, UpgradeSettings: a.UpgradeSettings, Version: a.Version,
		ForceSendFields: []string{"InitialNodeCount"},
	}
	if a.NodeCount != nil {
		pool.InitialNodeCount = *a.NodeCount
	}
	if a.MaxPodsPerNode > 0 {
		pool.MaxPodsConstraint = &container.MaxPodsConstraint{MaxPodsPerNode: a.MaxPodsPerNode}
	}
	return pool
}

// enabled returns the autoscaling with Enabled set, which Pulumi's form lacks.
func enabled(a *container.NodePoolAutoscaling) *container.NodePoolAutoscaling {
	if a == nil {
		return nil
	}
	wanted := *a
	wanted.Enabled = true
	wanted.ForceSendFields = append(wanted.ForceSendFields, "MinNodeCount", "MaxNodeCount", "TotalMinNodeCount", "TotalMaxNodeCount")
	return &wanted
}

func (g *plugin) createNodePool(ctx context.Context, r nodePoolRequest) (string, nodePoolState, error) {
	project, location, cluster, err := g.clusterOf(r.Args)
	if err != nil {
		return "", nodePoolState{}, err
	}
	a, parent, started := r.Args, clusterName(project, location, cluster), false
	err = g.clusterCall(ctx, project, location, r.Timeout, func(svc *container.Service) (*container.Operation, error) {
		request := &container.CreateNodePoolRequest{NodePool: a.api()}
		op, err := svc.Projects.Locations.Clusters.NodePools.Create(parent, request).Context(ctx).Do()
		started = err == nil
		return op, err
	})
	id := parent + "/nodePools/" + a.Name
	made := nodePoolState{Cluster: a.Cluster, Location: location, Project: project, poolState: poolState{poolArgs: a.poolArgs}}
	switch {
	case err != nil && !started:
		return "", nodePoolState{}, err
	case err != nil:
		return id, made, err
	}
	if made.poolState, err = g.livePool(ctx, id); err != nil {
		return id, made, err
	}
	return id, made, nil
}

func (g *plugin) updateNodePool(ctx context.Context, r nodePoolRequest) (nodePoolState, error) {
	state := r.State
	if err := g.changePool(ctx, r.ID, r.Timeout, r.Args.poolArgs, r.Old.poolArgs); err != nil {
		return state, err
	}
	var err error
	state.poolState, err = g.livePool(ctx, r.ID)
	state.Cluster = r.Args.Cluster
	return state, err
}
