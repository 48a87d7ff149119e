package gcp

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"

	sdk "github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/container"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"google.golang.org/api/container/v1"

	"github.com/strata-platform/strata/internal/local/plugins/provider"
)

const (
	// clusterNameLength is the longest name of a cluster or of a node pool.
	clusterNameLength = 40
	defaultPool       = "default-pool"
	vpcNative         = "VPC_NATIVE"
	routes            = "ROUTES"
)

// clusterInputs are those that the service is told and tells back in the same spelling.
type clusterInputs struct {
	ClusterIpv4Cidr                string                                    `json:"clusterIpv4Cidr,omitempty"`
	Description                    string                                    `json:"description,omitempty"`
	InitialNodeCount               int64                                     `json:"initialNodeCount,omitempty"`
	IPAllocationPolicy             *container.IPAllocationPolicy             `json:"ipAllocationPolicy,omitempty"`
	LoggingService                 string                                    `json:"loggingService,omitempty"`
	MasterAuth                     *container.MasterAuth                     `json:"masterAuth,omitempty"`
	MasterAuthorizedNetworksConfig *container.MasterAuthorizedNetworksConfig `json:"masterAuthorizedNetworksConfig,omitempty"`
	MonitoringService              string                                    `json:"monitoringService,omitempty"`
	Network                        string                                    `json:"network,omitempty"`
	NodeConfig                     *container.NodeConfig                     `json:"nodeConfig,omitempty"`
	PrivateClusterConfig           *container.PrivateClusterConfig           `json:"privateClusterConfig,omitempty"`
	ReleaseChannel                 *container.ReleaseChannel                 `json:"releaseChannel,omitempty"`
	ResourceLabels                 map[string]string                         `json:"resourceLabels"`
	Subnetwork                     string                                    `json:"subnetwork,omitempty"`
	WorkloadIdentityConfig         *container.WorkloadIdentityConfig         `json:"workloadIdentityConfig,omitempty"`
}

type clusterArgs struct {
	clusterInputs
	DatapathProvider      string   `json:"datapathProvider,omitempty"`
	DeletionProtection    bool     `json:"deletionProtection"`
	EnableAutopilot       bool     `json:"enableAutopilot,omitempty"`
	EnableShieldedNodes   *bool    `json:"enableShieldedNodes,omitempty"`
	Location              string   `json:"location"`
	MinMasterVersion      string   `json:"minMasterVersion,omitempty"`
	Name                  string   `json:"name"`
	NetworkingMode        string   `json:"networkingMode,omitempty"`
	NodeLocations         []string `json:"nodeLocations,omitempty"`
	NodeVersion           string   `json:"nodeVersion,omitempty"`
	Project               string   `json:"project"`
	RemoveDefaultNodePool bool     `json:"removeDefaultNodePool,omitempty"`
}

type clusterState struct {
	clusterInputs
	// DeletionProtection is the provider's own: the service does not know it.
	DeletionProtection  *bool    `json:"deletionProtection,omitempty"`
	DatapathProvider    string   `json:"datapathProvider,omitempty"`
	EnableShieldedNodes *bool    `json:"enableShieldedNodes,omitempty"`
	NetworkingMode      string   `json:"networkingMode,omitempty"`
	Location            string   `json:"location"`
	Name                string   `json:"name"`
	NodeLocations       []string `json:"nodeLocations,omitempty"`
	NodeVersion         string   `json:"nodeVersion"`
	Project             string   `json:"project"`

	Endpoint         string `json:"endpoint"`
	LabelFingerprint string `json:"labelFingerprint"`
	MasterVersion    string `json:"masterVersion"`
	SelfLink         string `json:"selfLink"`
	ServicesIpv4Cidr string `json:"servicesIpv4Cidr"`
}

type clusterRequest = provider.Request[clusterArgs, clusterState]

var clusterIDPatterns = []*regexp.Regexp{
	regexp.MustCompile(`^projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)/clusters/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<project>[^/]+)/(?P<location>[^/]+)/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<location>[^/]+)/(?P<name>[^/]+)$`),
}

func (g *plugin) cluster() provider.Resource {
	return provider.Resource{
		Args:     sdk.ClusterArgs{},
		State:    sdk.Cluster{},
		Identity: []string{"name", "location", "project"},
		Replace: append([]string{
			"clusterIpv4Cidr", "confidentialNodes", "datapathProvider", "defaultMaxPodsPerNode", "description",
			"enableAutopilot", "enableKubernetesAlpha", "enableTpu", "initialNodeCount",
			"ipAllocationPolicy.clusterIpv4CidrBlock", "ipAllocationPolicy.clusterSecondaryRangeName",
			"ipAllocationPolicy.podCidrOverprovisionConfig", "ipAllocationPolicy.servicesIpv4CidrBlock",
			"ipAllocationPolicy.servicesSecondaryRangeName", "location", "masterAuth.clientCertificateConfig", "name", "network",
			"networkingMode", "nodePools", "privateClusterConfig.masterIpv4CidrBlock",
			"privateClusterConfig.privateEndpointSubnetwork", "project", "subnetwork",
		}, replacedNodeConfig()...),
		Computed: []string{
			"clusterIpv4Cidr", "datapathProvider", "enableShieldedNodes", "ipAllocationPolicy", "location", "loggingService",
			"masterAuth", "monitoringService", "networkingMode", "nodeConfig", "nodeLocations", "nodeVersion", "privateClusterConfig", "project", "releaseChannel",
			"subnetwork", "masterAuth.clientCertificate", "masterAuth.clientKey", "masterAuth.clusterCaCertificate",
		},
		Secrets:  []string{"masterAuth.clientKey"},
		AutoName: &provider.AutoName{Property: "name", MaxLength: clusterNameLength},
		Defaults: map[string]property.Value{"deletionProtection": property.New(true), "network": property.New("default")},
		Operations: provider.Handle(provider.CRUD[clusterArgs, clusterState]{
			Create: g.createCluster,
			Read: func(ctx context.Context, r clusterRequest) (string, clusterState, error) {
				parts, err := parseID(r.ID, clusterIDPatterns)
				if err != nil {
					return "", clusterState{}, err
				}
				project, err := g.project(parts["project"])
				if err != nil {
					return "", clusterState{}, err
				}
				state, err := g.liveCluster(ctx, project, parts["location"], parts["name"])
				if err == nil && r.Importing {
					protected := true
					state.DeletionProtection = &protected
				}
				return clusterName(project, parts["location"], parts["name"]), state, err
			},
			Update: g.updateCluster,
			Delete: func(ctx context.Context, r clusterRequest) error {
				if r.State.DeletionProtection != nil && *r.State.DeletionProtection {
					return errors.New("deletionProtection is set: set it to false, run up, and delete the cluster then")
				}
				return g.clusterCall(ctx, r.State.Project, r.State.Location, r.Timeout, func(svc *container.Service) (*container.Operation, error) {
					return svc.Projects.Locations.Clusters.Delete(r.ID).Context(ctx).Do()
				})
			},
		}),
	}
}

// replacedNodeConfig are the parts of a node's configuration that cannot be changed in place.
func replacedNodeConfig() []string {
	var paths []string
	for _, p := range []string{
		"advancedMachineFeatures", "bootDiskKmsKey", "confidentialNodes", "enableConfidentialStorage",
		"ephemeralStorageConfig", "ephemeralStorageLocalSsdConfig", "guestAccelerators", "hostMaintenancePolicy",
		"localNvmeSsdBlockConfig", "localSsdCount", "metadata", "minCpuPlatform", "nodeGroup",
		"oauthScopes", "preemptible", "reservationAffinity", "sandboxConfig", "secondaryBootDisks", "serviceAccount",
		"shieldedInstanceConfig", "soleTenantConfig", "spot",
	} {
		paths = append(paths, "nodeConfig."+p)
	}
	return paths
}

func (g *plugin) createCluster(ctx context.Context, r clusterRequest) (string, clusterState, error) {
	project, err := g.project(r.Args.Project)
	if err != nil {
		return "", clusterState{}, err
	}
	location, err := g.location(r.Args.Location)
	if err != nil {
		return "", clusterState{}, err
	}
	a, id, started := r.Args, clusterName(project, location, r.Args.Name), false
	wanted := &container.Cluster{
		Name: a.Name, Locations: a.NodeLocations, InitialClusterVersion: a.MinMasterVersion,
		ClusterIpv4Cidr: a.ClusterIpv4Cidr, Description: a.Description, InitialNodeCount: a.InitialNodeCount,
		IpAllocationPolicy: a.IPAllocationPolicy, LoggingService: a.LoggingService, MasterAuth: a.MasterAuth,
		MonitoringService: a.MonitoringService, Network: a.Network, NodeConfig: a.NodeConfig,
		PrivateClusterConfig: a.PrivateClusterConfig, ReleaseChannel: a.ReleaseChannel, ResourceLabels: a.ResourceLabels,
		Subnetwork: a.Subnetwork, WorkloadIdentityConfig: a.WorkloadIdentityConfig,
	}
	if a.MasterAuthorizedNetworksConfig != nil {
		wanted.MasterAuthorizedNetworksConfig = authorizedNetworks(a)
	}
	if a.DatapathProvider != "" {
		wanted.NetworkConfig = &container.NetworkConfig{DatapathProvider: a.DatapathProvider}
	}
	if a.EnableShieldedNodes != nil {
		wanted.ShieldedNodes = shieldedNodes(a)
	}
	if a.NetworkingMode != "" || a.IPAllocationPolicy != nil {
		wanted.IpAllocationPolicy = allocationPolicy(a)
	}
	if a.EnableAutopilot {
		wanted.Autopilot = &container.Autopilot{Enabled: true}
	}
	err = g.clusterCall(ctx, project, location, r.Timeout, func(svc *container.Service) (*container.Operation, error) {
		parent := fmt.Sprintf("projects/%s/locations/%s", project, location)
		op, err := svc.Projects.Locations.Clusters.Create(parent, &container.CreateClusterRequest{Cluster: wanted}).Context(ctx).Do()
		started = err == nil
		return op, err
	})
	if err == nil && a.RemoveDefaultNodePool {
		err = g.clusterCall(ctx, project, location, r.Timeout, func(svc *container.Service) (*container.Operation, error) {
			return svc.Projects.Locations.Clusters.NodePools.Delete(id + "/nodePools/" + defaultPool).Context(ctx).Do()
		})
	}
	partial := clusterState{clusterInputs: a.clusterInputs, Location: location, Name: a.Name, Project: project}
	switch {
	case err != nil && !started:
		return "", clusterState{}, err
	case err != nil:
		return id, partial, err
	}
	live, err := g.liveCluster(ctx, project, location, a.Name)
	if err != nil {
		return id, partial, err
	}
	return id, live, nil
}

// liveCluster returns a cluster as the service has it.
func (g *plugin) liveCluster(ctx context.Context, project, location, name string) (clusterState, error) {
	svc, err := g.clients.container(ctx)
	if err != nil {
		return clusterState{}, fmt.Errorf("make Kubernetes Engine client: %w", err)
	}
	c, err := svc.Projects.Locations.Clusters.Get(clusterName(project, location, name)).Context(ctx).Do()
	if err != nil {
		return clusterState{}, explained(err)
	}
	inputs, err := converted[clusterInputs](c)
	if err != nil {
		return clusterState{}, err
	}
	if inputs.ResourceLabels == nil {
		inputs.ResourceLabels = map[string]string{}
	}
	state := clusterState{
		clusterInputs: inputs, Location: location, Name: c.Name, NodeVersion: c.CurrentNodeVersion, Project: project,
		Endpoint: c.Endpoint, LabelFingerprint: c.LabelFingerprint, MasterVersion: c.CurrentMasterVersion,
		SelfLink: c.SelfLink, ServicesIpv4Cidr: c.ServicesIpv4Cidr,
	}
	if c.NetworkConfig != nil {
		state.DatapathProvider = c.NetworkConfig.DatapathProvider
	}
	if c.ShieldedNodes != nil {
		state.EnableShieldedNodes = &c.ShieldedNodes.Enabled
	}
	if p := c.IpAllocationPolicy; p != nil {
		state.NetworkingMode = routes
		if p.UseIpAliases {
			state.NetworkingMode = vpcNative
		}
	}
	for _, l := range c.Locations {
		if l != location {
			state.NodeLocations = append(state.NodeLocations, l)
		}
	}
	return state, nil
}

func (g *plugin) updateCluster(ctx context.Context, r clusterRequest) (clusterState, error) {
	a, old := r.Args, r.Old
	update := func(change *container.ClusterUpdate) error {
		return g.clusterCall(ctx, r.State.Project, r.State.Location, r.Timeout, func(svc *container.Service) (*container.Operation, error) {
			return svc.Projects.Locations.Clusters.Update(r.ID, &container.UpdateClusterRequest{Update: change}).Context(ctx).Do()
		})
	}
	for _, change := range clusterChanges(a, old, r.State.Location) {
		if err := update(change); err != nil {
			return clusterState{}, err
		}
	}
	if differ(a.ResourceLabels, old.ResourceLabels) {
		live, err := g.liveCluster(ctx, r.State.Project, r.State.Location, r.State.Name)
		if err != nil {
			return clusterState{}, err
		}
		err = g.clusterCall(ctx, r.State.Project, r.State.Location, r.Timeout, func(svc *container.Service) (*container.Operation, error) {
			return svc.Projects.Locations.Clusters.SetResourceLabels(r.ID, &container.SetLabelsRequest{
				ResourceLabels: a.ResourceLabels, LabelFingerprint: live.LabelFingerprint, ForceSendFields: []string{"ResourceLabels"},
			}).Context(ctx).Do()
		})
		if err != nil {
			return clusterState{}, err
		}
	}
	return g.liveCluster(ctx, r.State.Project, r.State.Location, r.State.Name)
}

// clusterChanges returns what to change, one by one: the service takes one change at a time.
func clusterChanges(a, old clusterArgs, location string) []*container.ClusterUpdate {
	var changes []*container.ClusterUpdate
	add := func(changed bool, change *container.ClusterUpdate) {
		if changed {
			changes = append(changes, change)
		}
	}
	add(a.MinMasterVersion != old.MinMasterVersion && a.MinMasterVersion != "",
		&container.ClusterUpdate{DesiredMasterVersion: a.MinMasterVersion})
	add(a.NodeVersion != old.NodeVersion && a.NodeVersion != "",
		&container.ClusterUpdate{DesiredNodeVersion: a.NodeVersion, DesiredNodePoolId: defaultPool})
	add(differ(a.EnableShieldedNodes, old.EnableShieldedNodes),
		&container.ClusterUpdate{DesiredShieldedNodes: shieldedNodes(a)})
	add(differ(a.ReleaseChannel, old.ReleaseChannel),
		&container.ClusterUpdate{DesiredReleaseChannel: a.ReleaseChannel})
	add(differ(a.WorkloadIdentityConfig, old.WorkloadIdentityConfig),
		&container.ClusterUpdate{DesiredWorkloadIdentityConfig: workloadIdentity(a)})
	add(differ(a.MasterAuthorizedNetworksConfig, old.MasterAuthorizedNetworksConfig),
		&container.ClusterUpdate{DesiredMasterAuthorizedNetworksConfig: authorizedNetworks(a)})
	add(a.LoggingService != old.LoggingService || a.MonitoringService != old.MonitoringService,
		&container.ClusterUpdate{DesiredLoggingService: a.LoggingService, DesiredMonitoringService: a.MonitoringService})
	add(differ(a.NodeLocations, old.NodeLocations),
		&container.ClusterUpdate{DesiredLocations: append([]string{location}, a.NodeLocations...)})
	return changes
}

func differ(a, b any) bool { return !reflect.DeepEqual(a, b) }

// allocationPolicy says how pods get their addresses, which Pulumi's spelling calls the networking mode.
func allocationPolicy(a clusterArgs) *container.IPAllocationPolicy {
	wanted := container.IPAllocationPolicy{}
	if a.IPAllocationPolicy != nil {
		wanted = *a.IPAllocationPolicy
	}
	wanted.UseIpAliases = a.NetworkingMode != routes
	wanted.UseRoutes = a.NetworkingMode == routes
	return &wanted
}

// shieldedNodes are the default: they are sent to be turned off.
func shieldedNodes(a clusterArgs) *container.ShieldedNodes {
	return &container.ShieldedNodes{
		Enabled: a.EnableShieldedNodes == nil || *a.EnableShieldedNodes, ForceSendFields: []string{"Enabled"},
	}
}

// workloadIdentity turns workload identity off when the program no longer asks for it.
func workloadIdentity(a clusterArgs) *container.WorkloadIdentityConfig {
	if a.WorkloadIdentityConfig != nil {
		return a.WorkloadIdentityConfig
	}
	return &container.WorkloadIdentityConfig{ForceSendFields: []string{"WorkloadPool"}}
}

// authorizedNetworks says that they are in force, which Pulumi's spelling leaves out.
func authorizedNetworks(a clusterArgs) *container.MasterAuthorizedNetworksConfig {
	if a.MasterAuthorizedNetworksConfig == nil {
		return &container.MasterAuthorizedNetworksConfig{ForceSendFields: []string{"Enabled"}}
	}
	wanted := *a.MasterAuthorizedNetworksConfig
	wanted.Enabled = true
	return &wanted
}
