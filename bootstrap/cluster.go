package bootstrap

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/gke"
	"github.com/strata-platform/strata/components/identity"
)

// newCluster creates the cluster and the account of its nodes.
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
		Upgrade:                &gke.Upgrade{MaxSurge: pulumi.Int(config.MaxSurge), MaxUnavailable: pulumi.Int(config.MaxUnavailable)},
		MachineType:            pulumi.String(config.MachineType),
		ReleaseChannel:         pulumi.String(config.ReleaseChannel),
		NodeServiceAccount:     nodes.Email,
		Network:                pulumi.String(config.Network),
		Subnetwork:             pulumi.String(config.Subnetwork),
		AuthorizedNetworks:     pulumi.ToStringArray(config.AuthorizedNetworks),
		Maintenance:            config.maintenance(),
		NotificationTopic:      pulumi.String(config.NotificationTopic),
		Logging:                pulumi.ToStringArray(config.Logging),
		SecretsKey:             pulumi.String(config.SecretsKey),
		SecurityGroup:          pulumi.String(config.SecurityGroup),
		BinaryAuthorization:    config.BinaryAuthorization,
		DeletionProtection:     &config.DeletionProtection,
		IssueClientCertificate: pulumi.Bool(config.IssueClientCertificate),
	}
	if config.IntranodeVisibility {
		args.IntranodeVisibility = pulumi.Bool(true)
	}
	if config.MaxNodeCount > 0 {
		args.Autoscaling = &gke.Autoscaling{Min: pulumi.Int(config.NodeCount), Max: pulumi.Int(config.MaxNodeCount)}
	}
	if config.PrivateNodes {
		args.Private = &gke.Private{ControlPlaneRange: pulumi.String(config.ControlPlaneRange), Endpoint: pulumi.Bool(config.PrivateEndpoint)}
	}
	return gke.NewCluster(ctx, "cluster", args, opts...)
}

// maintenance returns the times in which Google Cloud may upgrade the cluster. The exclusions are sorted by name.
func (c Config) maintenance() *gke.Maintenance {
	times := &gke.Maintenance{Start: c.MaintenanceStart, Hours: c.MaintenanceHours, Days: c.MaintenanceDays}
	for _, name := range slices.Sorted(maps.Keys(c.MaintenanceExclusions)) {
		e := c.MaintenanceExclusions[name]
		times.Exclusions = append(times.Exclusions, gke.MaintenanceExclusion{Name: name, Start: e.Start, End: e.End, Scope: e.Scope})
	}
	return times
}

// clusterProblems returns the problems of the settings of the cluster's maintenance and security.
func (c Config) clusterProblems() []string {
	var problems []string
	for _, problem := range c.maintenance().Problems() {
		problems = append(problems, "maintenance"+strings.ToUpper(problem[:1])+problem[1:])
	}
	for _, problem := range gke.CheckLogging(c.Logging) {
		problems = append(problems, "logging: "+problem)
	}
	for setting, problem := range map[string]string{
		"notificationTopic": gke.CheckNotificationTopic(c.NotificationTopic, c.Project),
		"secretsKey":        gke.CheckSecretsKey(c.SecretsKey),
		"securityGroup":     gke.CheckSecurityGroup(c.SecurityGroup),
	} {
		if problem != "" {
			problems = append(problems, setting+": "+problem)
		}
	}
	if c.MaxSurge < 0 || c.MaxUnavailable < 0 || c.MaxSurge+c.MaxUnavailable < 1 {
		problems = append(problems, fmt.Sprintf("maxSurge is %d and maxUnavailable is %d: one must be above zero, or an upgrade replaces no node",
			c.MaxSurge, c.MaxUnavailable))
	}
	slices.Sort(problems)
	return problems
}
