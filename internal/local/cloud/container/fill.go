package container

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	container "google.golang.org/api/container/v1beta1"

	"github.com/strata-platform/strata/internal/local/cloud/container/check"
	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// The store keeps clusters in the types of v1beta1, which the official provider uses. The types have all fields of v1,
// so that the emulator returns them in both versions.

// kubernetesVersion is the version of all clusters and node pools.
const kubernetesVersion = "1.36.3-gke.100"

var clusterNames = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$`)

// checkCluster returns an error for a new cluster that Google Cloud would reject.
func checkCluster(c *api.Call, wanted *container.Cluster) error {
	if wanted == nil || !clusterNames.MatchString(wanted.Name) {
		return api.InvalidArgument("Invalid value for field \"cluster.name\": it must match %s.", clusterNames)
	}
	location := c.Vars["location"]
	if _, _, ok := api.ParseLocation(location); !ok {
		return api.InvalidArgument("Location %q does not exist.", location)
	}
	if len(wanted.NodePools) == 0 && wanted.InitialNodeCount <= 0 && !isAutopilot(wanted) {
		return api.InvalidArgument("Cluster.initial_node_count must be greater than zero.")
	}
	if len(wanted.NodePools) > 0 && (wanted.InitialNodeCount > 0 || wanted.NodeConfig != nil) {
		return api.InvalidArgument("Only one of \"cluster.node_pools\" and \"cluster.initial_node_count\" with \"cluster.node_config\" can be set.")
	}
	if auth := wanted.MasterAuth; auth != nil && (auth.Username != "" || auth.Password != "") {
		return api.InvalidArgument("Basic authentication was removed for GKE cluster versions >= 1.19. Do not set \"cluster.master_auth.username\" and \"password\".")
	}
	if err := checkVersionOf("initial_cluster_version", wanted.InitialClusterVersion); err != nil {
		return err
	}
	if err := checkLocations(location, wanted.Locations); err != nil {
		return err
	}
	wanted.Location = location
	return check.Settings(c.Project.ID, wanted)
}

// checkLocations returns an error for a zone outside the cluster's region.
func checkLocations(location string, zones []string) error {
	region, _, _ := api.ParseLocation(location)
	for _, zone := range zones {
		if in, isZone, ok := api.ParseLocation(zone); !ok || !isZone || in != region {
			return api.InvalidArgument("Location %q is not a zone of %s.", zone, region)
		}
	}
	return nil
}

// checkVersionOf returns an error for a version that is newer than kubernetesVersion, the only version of the emulator.
// It accepts older versions, so that a program with the version of its cluster on Google Cloud runs unchanged. The
// cluster has kubernetesVersion nevertheless.
func checkVersionOf(field, wanted string) error {
	if wanted == "" || wanted == "-" || wanted == "latest" {
		return nil
	}
	have := parseVersion(kubernetesVersion)
	want := parseVersion(wanted)
	if want == nil || slices.Compare(want, have[:min(len(want), len(have))]) > 0 {
		return api.InvalidArgument("No valid versions with the prefix %q found for \"%s\": this cloud has %s.", wanted, field, kubernetesVersion)
	}
	return nil
}

var versionNumbers = regexp.MustCompile(`^(\d+)\.(\d+)(?:\.(\d+)(?:-gke\.(\d+))?)?$`)

// parseVersion returns the numbers of a version, of any count, or nil if the text is not a version.
func parseVersion(version string) []int {
	match := versionNumbers.FindStringSubmatch(version)
	if match == nil {
		return nil
	}
	var parts []int
	for _, text := range match[1:] {
		if text == "" {
			break
		}
		number, err := strconv.Atoi(text)
		if err != nil {
			return nil
		}
		parts = append(parts, number)
	}
	return parts
}

// fillCluster sets the fields that Google Cloud sets in a new cluster. The official provider dereferences some of them
// without a nil check, so they must be present.
func (s *service) fillCluster(c *api.Call, created *cluster) error {
	k := created.Cluster
	k.Location, k.Zone = c.Vars["location"], c.Vars["location"]
	k.Status = provisioning
	k.CreateTime = api.Timestamp(s.Now())
	k.Id = api.RandomText(24)
	k.Etag = api.RandomText(8)
	k.SelfLink = s.BaseURL + "/container/v1/" + created.link()
	k.InitialClusterVersion, k.CurrentMasterVersion, k.CurrentNodeVersion = kubernetesVersion, kubernetesVersion, kubernetesVersion
	k.LabelFingerprint = api.RandomText(6)
	api.SetDefault(&k.Network, "default")
	api.SetDefault(&k.Subnetwork, "default")
	api.SetDefault(&k.LoggingService, "logging.googleapis.com/kubernetes")
	api.SetDefault(&k.MonitoringService, "monitoring.googleapis.com/kubernetes")
	api.SetMissing(&k.ReleaseChannel, container.ReleaseChannel{Channel: "REGULAR"})
	api.SetMissing(&k.ShieldedNodes, container.ShieldedNodes{Enabled: true})
	api.SetMissing(&k.DefaultMaxPodsConstraint, container.MaxPodsConstraint{MaxPodsPerNode: 110})
	api.SetMissing(&k.DatabaseEncryption, container.DatabaseEncryption{State: "DECRYPTED"})
	api.SetMissing(&k.Autoscaling, container.ClusterAutoscaling{AutoscalingProfile: "BALANCED"})
	api.SetMissing(&k.AddonsConfig, container.AddonsConfig{
		DnsCacheConfig:                   &container.DnsCacheConfig{Enabled: true},
		GcePersistentDiskCsiDriverConfig: &container.GcePersistentDiskCsiDriverConfig{Enabled: true},
		KubernetesDashboard:              &container.KubernetesDashboard{Disabled: true},
		NetworkPolicyConfig:              &container.NetworkPolicyConfig{Disabled: true},
	})
	api.SetMissing(&k.LegacyAbac, container.LegacyAbac{})
	api.SetMissing(&k.MasterAuthorizedNetworksConfig, container.MasterAuthorizedNetworksConfig{})
	fillAddresses(created)
	completeCluster(k)
	if len(k.Locations) == 0 {
		k.Locations = api.ZonesOf(k.Location)
	}
	if len(k.NodePools) == 0 {
		k.NodePools = []*container.NodePool{{Name: "default-pool", InitialNodeCount: k.InitialNodeCount, Config: k.NodeConfig}}
	}
	for _, pool := range k.NodePools {
		if err := s.fillNodePool(created, pool); err != nil {
			return err
		}
	}
	k.NodeConfig = k.NodePools[0].Config
	return nil
}

// fillAddresses sets the networks of a new cluster. The emulator does not use them.
func fillAddresses(created *cluster) {
	k := created.Cluster
	api.SetMissing(&k.NetworkConfig, container.NetworkConfig{})
	region, _, _ := api.ParseLocation(k.Location)
	network, subnetwork := k.Network, k.Subnetwork
	if !strings.Contains(network, "/") {
		network = "projects/" + created.Project + "/global/networks/" + network
	}
	if !strings.Contains(subnetwork, "/") {
		subnetwork = "projects/" + created.Project + "/regions/" + region + "/subnetworks/" + subnetwork
	}
	k.NetworkConfig.Network, k.NetworkConfig.Subnetwork = network, subnetwork
	api.SetMissing(&k.NetworkConfig.ServiceExternalIpsConfig, container.ServiceExternalIPsConfig{})
	api.SetMissing(&k.IpAllocationPolicy, container.IPAllocationPolicy{UseIpAliases: true})
	policy := k.IpAllocationPolicy
	api.SetDefault(&policy.ClusterIpv4CidrBlock, k.ClusterIpv4Cidr)
	api.SetDefault(&policy.ClusterIpv4CidrBlock, "10.112.0.0/14")
	api.SetDefault(&policy.ServicesIpv4CidrBlock, "34.118.224.0/20")
	api.SetDefault(&policy.StackType, "IPV4")
	k.ClusterIpv4Cidr, k.ServicesIpv4Cidr = policy.ClusterIpv4CidrBlock, policy.ServicesIpv4CidrBlock
	policy.ClusterIpv4Cidr, policy.ServicesIpv4Cidr = k.ClusterIpv4Cidr, k.ServicesIpv4Cidr
	if !policy.UseIpAliases {
		policy.ClusterIpv4CidrBlock, policy.ServicesIpv4CidrBlock = "", ""
	}
}

// completeCluster sets the parts of settings that Google Cloud always returns. It runs after a creation and after an
// update.
func completeCluster(k *container.Cluster) {
	api.SetMissing(&k.LoggingConfig, container.LoggingConfig{})
	api.SetMissing(&k.LoggingConfig.ComponentConfig, container.LoggingComponentConfig{EnableComponents: []string{"SYSTEM_COMPONENTS", "WORKLOADS"}})
	api.SetMissing(&k.MonitoringConfig, container.MonitoringConfig{ManagedPrometheusConfig: &container.ManagedPrometheusConfig{Enabled: true}})
	api.SetMissing(&k.MonitoringConfig.ComponentConfig, container.MonitoringComponentConfig{EnableComponents: []string{"SYSTEM_COMPONENTS"}})
	api.SetMissing(&k.NotificationConfig, container.NotificationConfig{})
	api.SetMissing(&k.NotificationConfig.Pubsub, container.PubSub{})
	if k.Autoscaling.EnableNodeAutoprovisioning {
		api.SetMissing(&k.Autoscaling.AutoprovisioningNodePoolDefaults, container.AutoprovisioningNodePoolDefaults{})
	}
	api.SetMissing(&k.ControlPlaneEndpointsConfig, container.ControlPlaneEndpointsConfig{})
	ends := k.ControlPlaneEndpointsConfig
	api.SetMissing(&ends.IpEndpointsConfig, container.IPEndpointsConfig{
		Enabled: true, EnablePublicEndpoint: k.PrivateClusterConfig == nil || !k.PrivateClusterConfig.EnablePrivateEndpoint,
	})
	api.SetMissing(&ends.IpEndpointsConfig.AuthorizedNetworksConfig, *k.MasterAuthorizedNetworksConfig)
	k.MasterAuthorizedNetworksConfig = ends.IpEndpointsConfig.AuthorizedNetworksConfig
}

// isAutopilot reports whether Google manages the nodes of a cluster.
func isAutopilot(k *container.Cluster) bool { return k.Autopilot != nil && k.Autopilot.Enabled }
