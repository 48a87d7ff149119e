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
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/handoff/keyless"
	"github.com/strata-platform/strata/internal/buildinfo"
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
	plans, err := newPlanIdentity(ctx, config, cluster.WorkloadPool, protected)
	if err != nil {
		return err
	}
	handoff.BootstrapOutputs{
		Project:    pulumi.String(config.Project),
		Region:     pulumi.String(config.Region),
		Cluster:    cluster.ClusterID,
		Kubeconfig: cluster.Kubeconfig,
		Kubernetes: cluster.Version,
		Addresses:  cluster.ControlPlaneAddresses,
		Instance:   instance.Name,
		Audience:   audience(cluster),
		Plans:      plans,
		Tenants:    tenants,
	}.Export(ctx)
	ctx.Export(handoff.OutputStrata, pulumi.String(buildinfo.Version))
	return nil
}

// audience returns the audience for which Google exchanges tokens of the cluster's accounts.
func audience(cluster *gke.Cluster) pulumi.StringOutput {
	return pulumi.All(cluster.WorkloadPool, cluster.ClusterID).ApplyT(func(parts []any) string {
		return keyless.Audience(parts[0].(string), parts[1].(string))
	}).(pulumi.StringOutput)
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
