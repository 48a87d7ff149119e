// Package bootstrap is layer 1 of Strata: it runs as the platform engineer's own cloud identity and makes the cluster,
// the database instance that the teams share, and a scoped Google service account for each team.
//
// What layer 2 needs of it is handed on as handoff.Bootstrap.
package bootstrap

import (
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/cloudsql"
	"github.com/strata-platform/strata/components/gke"
	"github.com/strata-platform/strata/components/identity"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/settings"
	"github.com/strata-platform/strata/teams"
)

// nodeRole is what a node needs in order to report logs and metrics, and no more.
const nodeRole = "roles/container.defaultNodeServiceAccount"

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
	cluster, err := newCluster(ctx, config)
	if err != nil {
		return err
	}
	instance, err := cloudsql.New(ctx, "instance", &cloudsql.Args{
		Name:               config.InstanceName,
		Project:            pulumi.String(config.Project),
		Region:             pulumi.String(config.Region),
		Version:            config.InstanceVersion,
		Tier:               config.InstanceTier,
		DeletionProtection: &config.DeletionProtection,
	})
	if err != nil {
		return err
	}
	role, err := newTenantRole(ctx, config)
	if err != nil {
		return err
	}
	tenants := map[string]handoff.BootstrapTenantOutputs{}
	for _, team := range list.Teams {
		if tenants[team.Name], err = newTenant(ctx, config, team, role); err != nil {
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

func newCluster(ctx *pulumi.Context, config Config) (*gke.Cluster, error) {
	nodes, err := identity.New(ctx, "nodes", &identity.Args{
		AccountID:   config.ClusterName + "-nodes",
		DisplayName: "Nodes of cluster " + config.ClusterName,
		Project:     pulumi.String(config.Project),
		Roles:       []string{nodeRole},
	})
	if err != nil {
		return nil, err
	}
	return gke.New(ctx, "cluster", &gke.Args{
		Name:                   config.ClusterName,
		Project:                pulumi.String(config.Project),
		Location:               pulumi.String(config.location()),
		NodeCount:              config.NodeCount,
		MachineType:            config.MachineType,
		ReleaseChannel:         config.ReleaseChannel,
		NodeServiceAccount:     nodes.Email,
		DeletionProtection:     &config.DeletionProtection,
		IssueClientCertificate: config.IssueClientCertificate,
	})
}

func newTenant(ctx *pulumi.Context, config Config, team teams.Team, role *projects.IAMCustomRole) (handoff.BootstrapTenantOutputs, error) {
	account, err := identity.New(ctx, "team-"+team.Name, &identity.Args{
		AccountID:   team.GoogleAccountID(),
		DisplayName: "Team " + team.Name,
		Project:     pulumi.String(config.Project),
		Roles:       config.TenantRoles,
		CustomRoles: pulumi.StringMap{"tenant": role.Name},
		Key:         config.TenantKeys,
	})
	if err != nil {
		return handoff.BootstrapTenantOutputs{}, err
	}
	return handoff.BootstrapTenantOutputs{
		Account:     account.Email,
		Backend:     pulumi.String(config.backend(team.Name)),
		Credentials: account.Credentials,
	}, nil
}
