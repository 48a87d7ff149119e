// Package bootstrap is layer 1 of Strata. It runs as the platform engineer's own cloud identity. It creates the cluster
// and the shared database instance, and for each team a scoped Google service account, a state backend, and the
// passphrase of that state.
//
// Layer 2 receives the results as handoff.Bootstrap.
package bootstrap

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/cloudsql"
	"github.com/strata-platform/strata/components/gke"
	"github.com/strata-platform/strata/components/identity"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/settings"
	"github.com/strata-platform/strata/teams"
)

// Program is the layer's Pulumi program. Its configuration is Config.
func Program(ctx *pulumi.Context) error {
	var config Config
	if err := settings.Decode(ctx, &config); err != nil {
		return err
	}
	list, err := teams.Load(settings.Path(ctx, config.TeamsFile))
	if err != nil {
		return err
	}
	if err := config.checkTeams(list.Teams); err != nil {
		return err
	}
	protected := pulumi.Protect(config.DeletionProtection)
	cluster, err := newCluster(ctx, config, protected)
	if err != nil {
		return err
	}
	instance, err := newInstance(ctx, config, protected)
	if err != nil {
		return err
	}
	role, err := newTenantRole(ctx, config, protected)
	if err != nil {
		return err
	}
	tenants := map[string]handoff.BootstrapTenantOutputs{}
	for _, team := range list.Teams {
		tenant := tenant{config: config, team: team, role: role, pool: cluster.WorkloadPool}
		if tenants[team.Name], err = tenant.make(ctx, protected); err != nil {
			return err
		}
	}
	handoff.BootstrapOutputs{
		Project:    pulumi.String(config.Project),
		Region:     pulumi.String(config.Region),
		Cluster:    cluster.ClusterID,
		Kubeconfig: cluster.Kubeconfig,
		Instance:   instance.Name,
		Tenants:    tenants,
	}.Export(ctx)
	return nil
}

func newCluster(ctx *pulumi.Context, config Config, opts ...pulumi.ResourceOption) (*gke.Cluster, error) {
	nodes, err := identity.New(ctx, "nodes", &identity.Args{
		AccountID:   config.ClusterName + "-nodes",
		DisplayName: "Nodes of cluster " + config.ClusterName,
		Project:     pulumi.String(config.Project),
		Roles:       []string{gke.NodeRole},
	}, opts...)
	if err != nil {
		return nil, err
	}
	args := &gke.Args{
		Name:                   config.ClusterName,
		Project:                pulumi.String(config.Project),
		Location:               pulumi.String(config.location()),
		NodeCount:              config.NodeCount,
		MachineType:            config.MachineType,
		ReleaseChannel:         config.ReleaseChannel,
		NodeServiceAccount:     nodes.Email,
		Network:                optional(config.Network),
		Subnetwork:             optional(config.Subnetwork),
		AuthorizedNetworks:     config.AuthorizedNetworks,
		DeletionProtection:     &config.DeletionProtection,
		IssueClientCertificate: config.IssueClientCertificate,
	}
	if config.MaxNodeCount > 0 {
		args.Autoscaling = &gke.Autoscaling{Min: config.NodeCount, Max: config.MaxNodeCount}
	}
	if config.PrivateNodes {
		args.Private = &gke.Private{ControlPlaneRange: config.ControlPlaneRange, Endpoint: config.PrivateEndpoint}
	}
	return gke.New(ctx, "cluster", args, opts...)
}

func newInstance(ctx *pulumi.Context, config Config, opts ...pulumi.ResourceOption) (*cloudsql.Instance, error) {
	return cloudsql.New(ctx, "instance", &cloudsql.Args{
		Name:               config.InstanceName,
		Project:            pulumi.String(config.Project),
		Region:             pulumi.String(config.Region),
		Version:            config.InstanceVersion,
		Tier:               config.InstanceTier,
		HighAvailability:   config.InstanceHighAvailability,
		PrivateNetwork:     optional(config.InstanceNetwork),
		RequireTLS:         config.InstanceRequireTLS,
		DeletionProtection: &config.DeletionProtection,
	}, opts...)
}

// optional returns the text as an input, or nil if the text is empty.
func optional(text string) pulumi.StringInput {
	if text == "" {
		return nil
	}
	return pulumi.String(text)
}
