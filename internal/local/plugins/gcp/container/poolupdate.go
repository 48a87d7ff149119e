package container

import (
	"context"
	"strings"
	"time"

	"google.golang.org/api/container/v1"

	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// changePool changes a node pool in place, with the API calls of the official provider, one for each change.
func (g provider) changePool(ctx context.Context, id string, limit time.Duration, a, old poolArgs) error {
	parts, err := core.ParseID(id, nodePoolIDPatterns)
	if err != nil {
		return err
	}
	// After the first error, call does nothing: err is then the result.
	call := func(changed bool, start func(*container.ProjectsLocationsClustersService) (*container.Operation, error)) {
		if err == nil && changed {
			err = g.clusterCall(ctx, parts["project"], parts["location"], limit, func(svc *container.Service) (*container.Operation, error) {
				return start(svc.Projects.Locations.Clusters)
			})
		}
	}
	clusterUpdate := func(changed bool, change *container.ClusterUpdate) {
		change.DesiredNodePoolId = parts["name"]
		call(changed, func(clusters *container.ProjectsLocationsClustersService) (*container.Operation, error) {
			cluster, _, _ := strings.Cut(id, "/nodePools/")
			return clusters.Update(cluster, &container.UpdateClusterRequest{Update: change}).Context(ctx).Do()
		})
	}
	wanted := enabledAutoscaling(a.Autoscaling)
	if wanted == nil {
		// JSON omits false unless it is forced, and the API would leave autoscaling on.
		wanted = &container.NodePoolAutoscaling{ForceSendFields: []string{"Enabled"}}
	}
	clusterUpdate(core.Differ(a.Autoscaling, old.Autoscaling), &container.ClusterUpdate{DesiredNodePoolAutoscaling: wanted})
	if a.NodeConfig != nil && old.NodeConfig != nil && a.NodeConfig.ImageType != "" {
		clusterUpdate(!strings.EqualFold(a.NodeConfig.ImageType, old.NodeConfig.ImageType),
			&container.ClusterUpdate{DesiredImageType: a.NodeConfig.ImageType})
	}
	for _, change := range poolChanges(a, old) {
		call(true, func(clusters *container.ProjectsLocationsClustersService) (*container.Operation, error) {
			return clusters.NodePools.Update(id, change).Context(ctx).Do()
		})
	}
	call(a.NodeCount != nil && core.Differ(a.NodeCount, old.NodeCount), func(clusters *container.ProjectsLocationsClustersService) (*container.Operation, error) {
		request := &container.SetNodePoolSizeRequest{NodeCount: *a.NodeCount, ForceSendFields: []string{"NodeCount"}}
		return clusters.NodePools.SetSize(id, request).Context(ctx).Do()
	})
	call(a.Management != nil && core.Differ(a.Management, old.Management), func(clusters *container.ProjectsLocationsClustersService) (*container.Operation, error) {
		request := &container.SetNodePoolManagementRequest{Management: a.Management}
		return clusters.NodePools.SetManagement(id, request).Context(ctx).Do()
	})
	return err
}

// poolChanges returns the changes for the API's method Update, which accepts one change at a time.
func poolChanges(a, old poolArgs) []*container.UpdateNodePoolRequest {
	var changes []*container.UpdateNodePoolRequest
	add := func(changed bool, change *container.UpdateNodePoolRequest) {
		if changed {
			changes = append(changes, change)
		}
	}
	c, o := a.NodeConfig, old.NodeConfig
	if c == nil || o == nil {
		c, o = &nodeConfig{}, &nodeConfig{}
	}
	add(c.LoggingVariant != o.LoggingVariant, &container.UpdateNodePoolRequest{LoggingConfig: loggingVariant(c.LoggingVariant)})
	add(c.DiskSizeGb != o.DiskSizeGb || c.DiskType != o.DiskType || c.MachineType != o.MachineType,
		&container.UpdateNodePoolRequest{DiskSizeGb: c.DiskSizeGb, DiskType: c.DiskType, MachineType: c.MachineType})
	add(core.Differ(c.Taints, o.Taints), &container.UpdateNodePoolRequest{
		Taints: &container.NodeTaints{Taints: c.Taints, ForceSendFields: []string{"Taints"}},
	})
	add(core.Differ(c.Tags, o.Tags), &container.UpdateNodePoolRequest{
		Tags: &container.NetworkTags{Tags: c.Tags, ForceSendFields: []string{"Tags"}},
	})
	add(core.Differ(c.ResourceManagerTags, o.ResourceManagerTags), &container.UpdateNodePoolRequest{
		ResourceManagerTags: &container.ResourceManagerTags{Tags: c.ResourceManagerTags, ForceSendFields: []string{"Tags"}},
	})
	add(core.Differ(c.ResourceLabels, o.ResourceLabels), &container.UpdateNodePoolRequest{
		ResourceLabels: &container.ResourceLabels{Labels: c.ResourceLabels, ForceSendFields: []string{"Labels"}},
	})
	add(core.Differ(c.Labels, o.Labels), &container.UpdateNodePoolRequest{
		Labels: &container.NodeLabels{Labels: c.Labels, ForceSendFields: []string{"Labels"}},
	})
	add(core.Differ(c.WorkloadMetadataConfig, o.WorkloadMetadataConfig), &container.UpdateNodePoolRequest{
		WorkloadMetadataConfig: orEmpty(c.WorkloadMetadataConfig),
	})
	add(core.Differ(c.KubeletConfig, o.KubeletConfig), &container.UpdateNodePoolRequest{
		KubeletConfig: orEmpty(c.KubeletConfig),
	})
	add(core.Differ(c.LinuxNodeConfig, o.LinuxNodeConfig), &container.UpdateNodePoolRequest{
		LinuxNodeConfig: orEmpty(c.LinuxNodeConfig),
	})
	add(core.Differ(c.FastSocket, o.FastSocket), &container.UpdateNodePoolRequest{
		FastSocket: orEmpty(c.FastSocket),
	})
	add(a.Version != old.Version && a.Version != "", &container.UpdateNodePoolRequest{NodeVersion: a.Version})
	add(core.Differ(a.NodeLocations, old.NodeLocations), &container.UpdateNodePoolRequest{Locations: a.NodeLocations})
	add(core.Differ(a.UpgradeSettings, old.UpgradeSettings) && a.UpgradeSettings != nil, &container.UpdateNodePoolRequest{
		UpgradeSettings: a.UpgradeSettings,
	})
	add(core.Differ(a.NetworkConfig, old.NetworkConfig) && a.NetworkConfig != nil, &container.UpdateNodePoolRequest{
		NodeNetworkConfig: a.NetworkConfig,
	})
	return changes
}

// orEmpty returns an empty value for nil, because the API removes a part of the configuration if it gets an empty
// value.
func orEmpty[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}
