package container

import (
	"context"

	"google.golang.org/api/container/v1"

	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// updateCluster makes the changes one by one, because the API accepts one change per call.
func (g provider) updateCluster(ctx context.Context, r clusterRequest) (clusterState, error) {
	a, old, project, location := &r.Args, &r.Old, r.State.Project, r.State.Location
	call := func(start func(*container.ProjectsLocationsClustersService) (*container.Operation, error)) error {
		return g.clusterCall(ctx, project, location, r.Timeout, func(svc *container.Service) (*container.Operation, error) {
			return start(svc.Projects.Locations.Clusters)
		})
	}
	for _, change := range clusterChanges(a, old, location) {
		err := call(func(clusters *container.ProjectsLocationsClustersService) (*container.Operation, error) {
			return clusters.Update(r.ID, &container.UpdateClusterRequest{Update: change}).Context(ctx).Do()
		})
		if err != nil {
			return clusterState{}, err
		}
	}
	for _, setter := range clusterSetters(ctx, r) {
		if err := call(setter); err != nil {
			return clusterState{}, err
		}
	}
	for i, pool := range a.NodePools {
		if i >= len(old.NodePools) {
			break // a different number of pools replaces the cluster
		}
		if err := g.changePool(ctx, r.ID+"/nodePools/"+old.NodePools[i].Name, r.Timeout, pool, old.NodePools[i]); err != nil {
			return clusterState{}, err
		}
	}
	return g.liveCluster(ctx, project, location, r.State.Name, len(a.NodePools) > 0)
}

// clusterSetters returns the calls for the changes that have API methods of their own.
func clusterSetters(ctx context.Context, r clusterRequest) []func(*container.ProjectsLocationsClustersService) (*container.Operation, error) {
	type clusters = container.ProjectsLocationsClustersService
	var setters []func(*clusters) (*container.Operation, error)
	add := func(changed bool, setter func(*clusters) (*container.Operation, error)) {
		if changed {
			setters = append(setters, setter)
		}
	}
	add(core.Differ(r.Args.MaintenancePolicy, r.Old.MaintenancePolicy), func(c *clusters) (*container.Operation, error) {
		policy := r.Args.MaintenancePolicy.api()
		if policy == nil {
			policy = &container.MaintenancePolicy{}
		}
		live, err := c.Get(r.ID).Context(ctx).Do()
		if err != nil {
			return nil, err
		}
		if live.MaintenancePolicy != nil {
			policy.ResourceVersion = live.MaintenancePolicy.ResourceVersion
		}
		return c.SetMaintenancePolicy(r.ID, &container.SetMaintenancePolicyRequest{MaintenancePolicy: policy}).Context(ctx).Do()
	})
	add(r.Args.EnableLegacyAbac != r.Old.EnableLegacyAbac, func(c *clusters) (*container.Operation, error) {
		request := &container.SetLegacyAbacRequest{Enabled: r.Args.EnableLegacyAbac, ForceSendFields: []string{"Enabled"}}
		return c.SetLegacyAbac(r.ID, request).Context(ctx).Do()
	})
	add(core.Differ(r.Args.NetworkPolicy, r.Old.NetworkPolicy), func(c *clusters) (*container.Operation, error) {
		policy := r.Args.NetworkPolicy
		if policy == nil {
			policy = &container.NetworkPolicy{ForceSendFields: []string{"Enabled"}}
		}
		return c.SetNetworkPolicy(r.ID, &container.SetNetworkPolicyRequest{NetworkPolicy: policy}).Context(ctx).Do()
	})
	add(core.Differ(r.Args.ResourceLabels, r.Old.ResourceLabels), func(c *clusters) (*container.Operation, error) {
		return c.SetResourceLabels(r.ID, &container.SetLabelsRequest{
			ResourceLabels: r.Args.ResourceLabels, LabelFingerprint: r.State.LabelFingerprint, ForceSendFields: []string{"ResourceLabels"},
		}).Context(ctx).Do()
	})
	return setters
}

// clusterChanges returns the changes for the API's method Update.
func clusterChanges(a, old *clusterArgs, location string) []*container.ClusterUpdate {
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
	if on := a.EnableShieldedNodes; on != nil {
		add(core.Differ(on, old.EnableShieldedNodes),
			&container.ClusterUpdate{DesiredShieldedNodes: &container.ShieldedNodes{Enabled: *on, ForceSendFields: []string{"Enabled"}}})
	}
	add(core.Differ(a.AddonsConfig, old.AddonsConfig), &container.ClusterUpdate{DesiredAddonsConfig: a.AddonsConfig})
	add(core.Differ(a.AuthenticatorGroupsConfig, old.AuthenticatorGroupsConfig), &container.ClusterUpdate{DesiredAuthenticatorGroupsConfig: authenticatorGroups(a)})
	add(core.Differ(a.BinaryAuthorization, old.BinaryAuthorization), &container.ClusterUpdate{DesiredBinaryAuthorization: binaryAuthorization(a)})
	add(core.Differ(a.CostManagementConfig, old.CostManagementConfig), &container.ClusterUpdate{DesiredCostManagementConfig: a.CostManagementConfig})
	add(core.Differ(a.DatabaseEncryption, old.DatabaseEncryption), &container.ClusterUpdate{DesiredDatabaseEncryption: a.DatabaseEncryption})
	add(core.Differ(a.DefaultSnatStatus, old.DefaultSnatStatus), &container.ClusterUpdate{DesiredDefaultSnatStatus: a.DefaultSnatStatus})
	add(core.Differ(a.DNSConfig, old.DNSConfig), &container.ClusterUpdate{DesiredDnsConfig: dnsConfig(a)})
	add(a.EnableFqdnNetworkPolicy != old.EnableFqdnNetworkPolicy,
		&container.ClusterUpdate{DesiredEnableFqdnNetworkPolicy: a.EnableFqdnNetworkPolicy, ForceSendFields: []string{"DesiredEnableFqdnNetworkPolicy"}})
	add(a.EnableIntranodeVisibility != old.EnableIntranodeVisibility,
		&container.ClusterUpdate{DesiredIntraNodeVisibilityConfig: &container.IntraNodeVisibilityConfig{
			Enabled: a.EnableIntranodeVisibility, ForceSendFields: []string{"Enabled"},
		}})
	add(a.EnableL4IlbSubsetting != old.EnableL4IlbSubsetting,
		&container.ClusterUpdate{DesiredL4ilbSubsettingConfig: &container.ILBSubsettingConfig{
			Enabled: a.EnableL4IlbSubsetting, ForceSendFields: []string{"Enabled"},
		}})
	add(core.Differ(a.GatewayAPIConfig, old.GatewayAPIConfig), &container.ClusterUpdate{DesiredGatewayApiConfig: a.GatewayAPIConfig})
	add(core.Differ(a.IdentityServiceConfig, old.IdentityServiceConfig), &container.ClusterUpdate{DesiredIdentityServiceConfig: a.IdentityServiceConfig})
	add(core.Differ(a.LoggingConfig, old.LoggingConfig), &container.ClusterUpdate{DesiredLoggingConfig: a.LoggingConfig.api()})
	add(core.Differ(a.MasterAuthorizedNetworksConfig, old.MasterAuthorizedNetworksConfig),
		&container.ClusterUpdate{DesiredMasterAuthorizedNetworksConfig: authorizedNetworks(a)})
	add(core.Differ(a.MeshCertificates, old.MeshCertificates), &container.ClusterUpdate{DesiredMeshCertificates: a.MeshCertificates})
	add(core.Differ(a.MonitoringConfig, old.MonitoringConfig), &container.ClusterUpdate{DesiredMonitoringConfig: a.MonitoringConfig.api()})
	add(a.LoggingService != old.LoggingService || a.MonitoringService != old.MonitoringService,
		&container.ClusterUpdate{DesiredLoggingService: a.LoggingService, DesiredMonitoringService: a.MonitoringService})
	add(core.Differ(a.NodeLocations, old.NodeLocations), &container.ClusterUpdate{DesiredLocations: a.allLocations(location)})
	add(core.Differ(a.NotificationConfig, old.NotificationConfig), &container.ClusterUpdate{DesiredNotificationConfig: a.NotificationConfig})
	add(core.Differ(a.PrivateClusterConfig, old.PrivateClusterConfig), &container.ClusterUpdate{DesiredPrivateClusterConfig: a.PrivateClusterConfig})
	add(core.Differ(a.ReleaseChannel, old.ReleaseChannel), &container.ClusterUpdate{DesiredReleaseChannel: a.ReleaseChannel})
	add(core.Differ(a.SecurityPostureConfig, old.SecurityPostureConfig), &container.ClusterUpdate{DesiredSecurityPostureConfig: a.SecurityPostureConfig})
	add(core.Differ(a.ServiceExternalIpsConfig, old.ServiceExternalIpsConfig), &container.ClusterUpdate{DesiredServiceExternalIpsConfig: a.ServiceExternalIpsConfig})
	add(core.Differ(a.VerticalPodAutoscaling, old.VerticalPodAutoscaling), &container.ClusterUpdate{DesiredVerticalPodAutoscaling: a.VerticalPodAutoscaling})
	add(core.Differ(a.WorkloadIdentityConfig, old.WorkloadIdentityConfig), &container.ClusterUpdate{DesiredWorkloadIdentityConfig: workloadIdentity(a)})
	return changes
}

// workloadIdentity returns the program's configuration, or one that turns workload identity off.
func workloadIdentity(a *clusterArgs) *container.WorkloadIdentityConfig {
	if a.WorkloadIdentityConfig != nil {
		return a.WorkloadIdentityConfig
	}
	return &container.WorkloadIdentityConfig{ForceSendFields: []string{"WorkloadPool"}}
}

// binaryAuthorization returns the program's configuration, or one that turns binary authorization off.
func binaryAuthorization(a *clusterArgs) *container.BinaryAuthorization {
	if a.BinaryAuthorization != nil {
		return a.BinaryAuthorization
	}
	return &container.BinaryAuthorization{EvaluationMode: "DISABLED"}
}

// dnsConfig returns the program's configuration, or the provider's default.
func dnsConfig(a *clusterArgs) *container.DNSConfig {
	if a.DNSConfig != nil {
		return a.DNSConfig
	}
	return &container.DNSConfig{ClusterDns: "PROVIDER_UNSPECIFIED", ClusterDnsScope: "DNS_SCOPE_UNSPECIFIED"}
}
