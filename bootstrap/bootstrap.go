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
	all := list.All()
	if err := config.checkTeams(all); err != nil {
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
	buckets, err := newBucketRole(ctx, config, all, protected)
	if err != nil {
		return err
	}
	tenants := map[string]handoff.BootstrapTenantOutputs{}
	for _, team := range all {
		tenant := tenant{config: config, team: team, role: role, buckets: buckets, pool: cluster.WorkloadPool}
		if tenants[team.Name], err = tenant.make(ctx, protected); err != nil {
			return err
		}
	}
	handoff.BootstrapOutputs{
		Project:    pulumi.String(config.Project),
		Region:     pulumi.String(config.Region),
		Cluster:    cluster.ClusterID,
		Kubeconfig: cluster.Kubeconfig,
		Kubernetes: cluster.Version,
		Instance:   instance.Name,
		Tenants:    tenants,
	}.Export(ctx)
	return nil
}

func newCluster(ctx *pulumi.Context, config Config, opts ...pulumi.ResourceOption) (*gke.Cluster, error) {
	nodes, err := identity.NewIdentity(ctx, "nodes", &identity.IdentityArgs{
		AccountID:   pulumi.String(config.ClusterName + "-nodes"),
		DisplayName: pulumi.String("Nodes of cluster " + config.ClusterName),
		Project:     pulumi.String(config.Project),
		Roles:       []string{gke.NodeRole},
	}, opts...)
	if err != nil {
		return nil, err
	}
	args := &gke.ClusterArgs{
		Name:                   pulumi.String(config.ClusterName),
		Project:                pulumi.String(config.Project),
		Location:               pulumi.String(config.location()),
		NodeCount:              pulumi.Int(config.NodeCount),
		MachineType:            pulumi.String(config.MachineType),
		ReleaseChannel:         pulumi.String(config.ReleaseChannel),
		NodeServiceAccount:     nodes.Email,
		Network:                pulumi.String(config.Network),
		Subnetwork:             pulumi.String(config.Subnetwork),
		AuthorizedNetworks:     pulumi.ToStringArray(config.AuthorizedNetworks),
		DeletionProtection:     &config.DeletionProtection,
		IssueClientCertificate: pulumi.Bool(config.IssueClientCertificate),
	}
	if config.MaxNodeCount > 0 {
		args.Autoscaling = &gke.Autoscaling{Min: pulumi.Int(config.NodeCount), Max: pulumi.Int(config.MaxNodeCount)}
	}
	if config.PrivateNodes {
		args.Private = &gke.Private{ControlPlaneRange: pulumi.String(config.ControlPlaneRange), Endpoint: pulumi.Bool(config.PrivateEndpoint)}
	}
	return gke.NewCluster(ctx, "cluster", args, opts...)
}

func newInstance(ctx *pulumi.Context, config Config, opts ...pulumi.ResourceOption) (*cloudsql.Instance, error) {
	return cloudsql.NewInstance(ctx, "instance", &cloudsql.InstanceArgs{
		Name:               pulumi.String(config.InstanceName),
		Project:            pulumi.String(config.Project),
		Region:             pulumi.String(config.Region),
		Version:            config.InstanceVersion,
		Tier:               pulumi.String(config.InstanceTier),
		HighAvailability:   pulumi.Bool(config.InstanceHighAvailability),
		PrivateNetwork:     pulumi.String(config.InstanceNetwork),
		RequireTLS:         pulumi.Bool(config.InstanceRequireTLS),
		DeletionProtection: &config.DeletionProtection,
	}, opts...)
}
