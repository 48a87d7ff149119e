package container

import (
	"context"
	"regexp"

	sdk "github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/container"
	"google.golang.org/api/container/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// poolArgs are the inputs that the node pool resource and a node pool within a cluster have in common.
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

// NodePool returns the resource type of node pools.
func NodePool(p *core.Provider) frame.Resource {
	g := provider{p}
	return frame.Resource{
		Args:  sdk.NodePoolArgs{},
		State: sdk.NodePool{},
		Rules: rules.ByPath{
			"cluster":  {Replace: true},
			"location": core.FromProvider(),
			"project":  core.FromProvider(),
		}.With("", poolRules()),
		Identity: []string{"name", "cluster", "location", "project"},
		AutoName: "name",
		Operations: frame.Handle(frame.CRUD[nodePoolArgs, nodePoolState]{
			Check: func(args nodePoolArgs) []frame.Failure {
				if args.InitialNodeCount > 0 && args.NodeCount != nil && *args.NodeCount > 0 {
					return []frame.Failure{{Path: "nodeCount", Reason: "nodeCount conflicts with initialNodeCount: remove one of them"}}
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

// poolRules returns the rules that the node pool resource and a node pool within a cluster have in common.
func poolRules() rules.ByPath {
	replace, computed := rules.Rule{Replace: true}, rules.Rule{Computed: true}
	both := rules.Rule{Replace: true, Computed: true}
	return rules.ByPath{
		"autoscaling.locationPolicy":    {Computed: true, OneOf: []string{"BALANCED", "ANY"}},
		"autoscaling.maxNodeCount":      {Range: rules.AtLeast(0)},
		"autoscaling.minNodeCount":      {Range: rules.AtLeast(0)},
		"autoscaling.totalMaxNodeCount": {Range: rules.AtLeast(0)},
		"autoscaling.totalMinNodeCount": {Range: rules.AtLeast(0)},
		"management":                    {Computed: true},
		"management.autoRepair":         {Default: true},
		"management.autoUpgrade":        {Default: true},
		"namePrefix":                    {Replace: true, Computed: true, Excludes: []string{"name"}},
		"nodeConfig":                    {Replace: true, Computed: true},
		"nodeCount":                     {Computed: true, Range: rules.AtLeast(0)},
		"nodeLocations":                 {Computed: true, Set: true},
		"upgradeSettings.maxSurge":      {Computed: true, Range: rules.AtLeast(0)},
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

// clusterOf returns the project, location and name of a node pool's cluster. The input is the name of the cluster or
// its ID.
func (g provider) clusterOf(a nodePoolArgs) (project, location, cluster string, err error) {
	if parts, err := core.ParseID(a.Cluster, clusterIDPatterns[:1]); err == nil {
		return parts["project"], parts["location"], parts["name"], nil
	}
	if project, err = g.Project(a.Project); err != nil {
		return "", "", "", err
	}
	location, err = g.Location(a.Location)
	return project, location, a.Cluster, err
}

// api returns the node pool to create in the API's form.
func (a *poolArgs) api() *container.NodePool {
	pool := &container.NodePool{
		Name: a.Name, Autoscaling: enabledAutoscaling(a.Autoscaling), Config: a.NodeConfig.api(), InitialNodeCount: a.InitialNodeCount,
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

// enabledAutoscaling returns the autoscaling in the API's form, which has a field Enabled and sends limits of zero.
func enabledAutoscaling(a *container.NodePoolAutoscaling) *container.NodePoolAutoscaling {
	if a == nil {
		return nil
	}
	wanted := *a
	wanted.Enabled = true
	wanted.ForceSendFields = append(wanted.ForceSendFields, "MinNodeCount", "MaxNodeCount", "TotalMinNodeCount", "TotalMaxNodeCount")
	return &wanted
}

// createNodePool creates a node pool. It returns the ID with an error if the service has begun to create the node pool.
func (g provider) createNodePool(ctx context.Context, r nodePoolRequest) (string, nodePoolState, error) {
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
	state := nodePoolState{Cluster: a.Cluster, Location: location, Project: project, poolState: poolState{poolArgs: a.poolArgs}}
	switch {
	case err != nil && !started:
		return "", nodePoolState{}, err
	case err != nil:
		return id, state, err
	}
	if state.poolState, err = g.livePool(ctx, id); err != nil {
		return id, state, err
	}
	return id, state, nil
}

func (g provider) updateNodePool(ctx context.Context, r nodePoolRequest) (nodePoolState, error) {
	state := r.State
	if err := g.changePool(ctx, r.ID, r.Timeout, r.Args.poolArgs, r.Old.poolArgs); err != nil {
		return state, err
	}
	var err error
	state.poolState, err = g.livePool(ctx, r.ID)
	state.Cluster = r.Args.Cluster
	return state, err
}
