package cloud

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	container "google.golang.org/api/container/v1beta1"
)

// The store keeps clusters in the types of v1beta1, which the official provider uses. They have all fields of v1, so
// the emulator returns them in both versions.

// kubernetesVersion is the version of all clusters and node pools.
const kubernetesVersion = "1.36.3-gke.100"

var clusterNames = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$`)

// checkCluster refuses a new cluster that Google Cloud refuses too.
func checkCluster(c *call, wanted *container.Cluster) error {
	if wanted == nil || !clusterNames.MatchString(wanted.Name) {
		return invalidArgument("Invalid value for field \"cluster.name\": it must match %s.", clusterNames)
	}
	location := c.vars["location"]
	if _, _, ok := parseLocation(location); !ok {
		return invalidArgument("Location %q does not exist.", location)
	}
	if len(wanted.NodePools) == 0 && wanted.InitialNodeCount <= 0 && !isAutopilot(wanted) {
		return invalidArgument("Cluster.initial_node_count must be greater than zero.")
	}
	if len(wanted.NodePools) > 0 && (wanted.InitialNodeCount > 0 || wanted.NodeConfig != nil) {
		return invalidArgument("Only one of \"cluster.node_pools\" and \"cluster.initial_node_count\" with \"cluster.node_config\" can be set.")
	}
	if auth := wanted.MasterAuth; auth != nil && (auth.Username != "" || auth.Password != "") {
		return invalidArgument("Basic authentication was removed for GKE cluster versions >= 1.19. Do not set \"cluster.master_auth.username\" and \"password\".")
	}
	if err := checkVersionOf("initial_cluster_version", wanted.InitialClusterVersion); err != nil {
		return err
	}
	if err := checkLocations(location, wanted.Locations); err != nil {
		return err
	}
	return checkClusterSettings(c.project.ID, wanted)
}

// checkClusterSettings refuses invalid values of settings that a creation and an update can set.
func checkClusterSettings(project string, wanted *container.Cluster) error {
	if identity := wanted.WorkloadIdentityConfig; identity != nil && identity.WorkloadPool != "" && identity.WorkloadPool != project+".svc.id.goog" {
		return invalidArgument("Workload pool %q is not valid: the only one of this project is %q.", identity.WorkloadPool, project+".svc.id.goog")
	}
	if channel := wanted.ReleaseChannel; channel != nil && !slices.Contains([]string{"", "UNSPECIFIED", "RAPID", "REGULAR", "STABLE", "EXTENDED"}, channel.Channel) {
		return invalidArgument("Invalid value at 'release_channel.channel', %q", channel.Channel)
	}
	if policy := wanted.MaintenancePolicy; policy != nil && policy.Window != nil && policy.Window.RecurringWindow != nil && policy.Window.RecurringWindow.Window == nil {
		return invalidArgument("\"maintenance_policy.window.recurring_window.window\" is required.")
	}
	return nil
}

// checkLocations refuses zones outside a cluster's region.
func checkLocations(location string, zones []string) error {
	region, _, _ := parseLocation(location)
	for _, zone := range zones {
		if in, isZone, ok := parseLocation(zone); !ok || !isZone || in != region {
			return invalidArgument("Location %q is not a zone of %s.", zone, region)
		}
	}
	return nil
}

// checkVersionOf refuses versions that are newer than kubernetesVersion, the only one here. It accepts older versions,
// so that a program with the version of its cluster on Google Cloud runs unchanged; the cluster still has
// kubernetesVersion.
func checkVersionOf(field, wanted string) error {
	if wanted == "" || wanted == "-" || wanted == "latest" {
		return nil
	}
	have := versionParts(kubernetesVersion)
	want := versionParts(wanted)
	if want == nil || slices.Compare(want, have[:min(len(want), len(have))]) > 0 {
		return invalidArgument("No valid versions with the prefix %q found for \"%s\": this cloud has %s.", wanted, field, kubernetesVersion)
	}
	return nil
}

var versionNumbers = regexp.MustCompile(`^(\d+)\.(\d+)(?:\.(\d+)(?:-gke\.(\d+))?)?$`)

// versionParts returns as many numbers as a version has, or nil if the text is not a version.
func versionParts(version string) []int {
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
func (s *containerService) fillCluster(c *call, created *cluster) error {
	k := created.Cluster
	k.Location, k.Zone = c.vars["location"], c.vars["location"]
	k.Status = provisioning
	k.CreateTime = timestamp(s.now())
	k.Id = randomText(24)
	k.Etag = randomText(8)
	k.SelfLink = s.baseURL + "/container/v1/" + created.link()
	k.InitialClusterVersion, k.CurrentMasterVersion, k.CurrentNodeVersion = kubernetesVersion, kubernetesVersion, kubernetesVersion
	k.LabelFingerprint = randomText(6)
	setDefault(&k.Network, "default")
	setDefault(&k.Subnetwork, "default")
	setDefault(&k.LoggingService, "logging.googleapis.com/kubernetes")
	setDefault(&k.MonitoringService, "monitoring.googleapis.com/kubernetes")
	setMissing(&k.ReleaseChannel, container.ReleaseChannel{Channel: "REGULAR"})
	setMissing(&k.ShieldedNodes, container.ShieldedNodes{Enabled: true})
	setMissing(&k.DefaultMaxPodsConstraint, container.MaxPodsConstraint{MaxPodsPerNode: 110})
	setMissing(&k.DatabaseEncryption, container.DatabaseEncryption{State: "DECRYPTED"})
	setMissing(&k.Autoscaling, container.ClusterAutoscaling{AutoscalingProfile: "BALANCED"})
	setMissing(&k.AddonsConfig, container.AddonsConfig{
		DnsCacheConfig:                   &container.DnsCacheConfig{Enabled: true},
		GcePersistentDiskCsiDriverConfig: &container.GcePersistentDiskCsiDriverConfig{Enabled: true},
		KubernetesDashboard:              &container.KubernetesDashboard{Disabled: true},
		NetworkPolicyConfig:              &container.NetworkPolicyConfig{Disabled: true},
	})
	setMissing(&k.LegacyAbac, container.LegacyAbac{})
	setMissing(&k.MasterAuthorizedNetworksConfig, container.MasterAuthorizedNetworksConfig{})
	fillAddresses(created)
	completeCluster(k)
	if len(k.Locations) == 0 {
		k.Locations = zonesOf(k.Location)
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
	setMissing(&k.NetworkConfig, container.NetworkConfig{})
	region, _, _ := parseLocation(k.Location)
	network, subnetwork := k.Network, k.Subnetwork
	if !strings.Contains(network, "/") {
		network = "projects/" + created.Project + "/global/networks/" + network
	}
	if !strings.Contains(subnetwork, "/") {
		subnetwork = "projects/" + created.Project + "/regions/" + region + "/subnetworks/" + subnetwork
	}
	k.NetworkConfig.Network, k.NetworkConfig.Subnetwork = network, subnetwork
	setMissing(&k.NetworkConfig.ServiceExternalIpsConfig, container.ServiceExternalIPsConfig{})
	setMissing(&k.IpAllocationPolicy, container.IPAllocationPolicy{UseIpAliases: true})
	policy := k.IpAllocationPolicy
	setDefault(&policy.ClusterIpv4CidrBlock, k.ClusterIpv4Cidr)
	setDefault(&policy.ClusterIpv4CidrBlock, "10.112.0.0/14")
	setDefault(&policy.ServicesIpv4CidrBlock, "34.118.224.0/20")
	setDefault(&policy.StackType, "IPV4")
	k.ClusterIpv4Cidr, k.ServicesIpv4Cidr = policy.ClusterIpv4CidrBlock, policy.ServicesIpv4CidrBlock
	policy.ClusterIpv4Cidr, policy.ServicesIpv4Cidr = k.ClusterIpv4Cidr, k.ServicesIpv4Cidr
	if !policy.UseIpAliases {
		policy.ClusterIpv4CidrBlock, policy.ServicesIpv4CidrBlock = "", ""
	}
}

// completeCluster sets the parts of settings that Google Cloud always returns. It runs after a creation and after an
// update.
func completeCluster(k *container.Cluster) {
	setMissing(&k.LoggingConfig, container.LoggingConfig{})
	setMissing(&k.LoggingConfig.ComponentConfig, container.LoggingComponentConfig{EnableComponents: []string{"SYSTEM_COMPONENTS", "WORKLOADS"}})
	setMissing(&k.MonitoringConfig, container.MonitoringConfig{ManagedPrometheusConfig: &container.ManagedPrometheusConfig{Enabled: true}})
	setMissing(&k.MonitoringConfig.ComponentConfig, container.MonitoringComponentConfig{EnableComponents: []string{"SYSTEM_COMPONENTS"}})
	setMissing(&k.NotificationConfig, container.NotificationConfig{})
	setMissing(&k.NotificationConfig.Pubsub, container.PubSub{})
	if k.Autoscaling.EnableNodeAutoprovisioning {
		setMissing(&k.Autoscaling.AutoprovisioningNodePoolDefaults, container.AutoprovisioningNodePoolDefaults{})
	}
	setMissing(&k.ControlPlaneEndpointsConfig, container.ControlPlaneEndpointsConfig{})
	ends := k.ControlPlaneEndpointsConfig
	setMissing(&ends.IpEndpointsConfig, container.IPEndpointsConfig{
		Enabled: true, EnablePublicEndpoint: k.PrivateClusterConfig == nil || !k.PrivateClusterConfig.EnablePrivateEndpoint,
	})
	setMissing(&ends.IpEndpointsConfig.AuthorizedNetworksConfig, *k.MasterAuthorizedNetworksConfig)
	k.MasterAuthorizedNetworksConfig = ends.IpEndpointsConfig.AuthorizedNetworksConfig
}

func isAutopilot(k *container.Cluster) bool { return k.Autopilot != nil && k.Autopilot.Enabled }
