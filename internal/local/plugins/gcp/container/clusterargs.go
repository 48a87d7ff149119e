package container

import (
	"google.golang.org/api/container/v1"

	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// apiCluster is the API's cluster without its MarshalJSON method, which would hide the other fields of clusterSpec.
type apiCluster container.Cluster

// clusterSpec is a cluster in Pulumi's form. Its own fields replace those of the API that have another form there.
type clusterSpec struct {
	apiCluster
	LoggingConfig     *loggingConfig     `json:"loggingConfig,omitempty"`
	MaintenancePolicy *maintenancePolicy `json:"maintenancePolicy,omitempty"`
	MonitoringConfig  *monitoringConfig  `json:"monitoringConfig,omitempty"`
	NodeConfig        *nodeConfig        `json:"nodeConfig,omitempty"`

	// These fields have another form in the API and are not emulated.
	NodePoolAutoConfig        *struct{} `json:"nodePoolAutoConfig,omitempty"`
	NodePoolDefaults          *struct{} `json:"nodePoolDefaults,omitempty"`
	ResourceUsageExportConfig *struct{} `json:"resourceUsageExportConfig,omitempty"`

	// These fields are part of the API's network configuration.
	DatapathProvider                     string                              `json:"datapathProvider"`
	DefaultSnatStatus                    *container.DefaultSnatStatus        `json:"defaultSnatStatus,omitempty"`
	DNSConfig                            *container.DNSConfig                `json:"dnsConfig,omitempty"`
	EnableCiliumClusterwideNetworkPolicy bool                                `json:"enableCiliumClusterwideNetworkPolicy"`
	EnableFqdnNetworkPolicy              bool                                `json:"enableFqdnNetworkPolicy"`
	EnableIntranodeVisibility            bool                                `json:"enableIntranodeVisibility"`
	EnableL4IlbSubsetting                bool                                `json:"enableL4IlbSubsetting"`
	EnableMultiNetworking                bool                                `json:"enableMultiNetworking"`
	GatewayAPIConfig                     *container.GatewayAPIConfig         `json:"gatewayApiConfig,omitempty"`
	PrivateIpv6GoogleAccess              string                              `json:"privateIpv6GoogleAccess"`
	ServiceExternalIpsConfig             *container.ServiceExternalIPsConfig `json:"serviceExternalIpsConfig,omitempty"`

	// In the API, each of these fields is an object with one value.
	DefaultMaxPodsPerNode int64  `json:"defaultMaxPodsPerNode,omitempty"`
	EnableAutopilot       bool   `json:"enableAutopilot,omitempty"`
	EnableLegacyAbac      bool   `json:"enableLegacyAbac"`
	EnableShieldedNodes   *bool  `json:"enableShieldedNodes,omitempty"`
	NetworkingMode        string `json:"networkingMode,omitempty"`

	Location      string   `json:"location"`
	NodeLocations []string `json:"nodeLocations,omitempty"`
	NodeVersion   string   `json:"nodeVersion,omitempty"`
	Project       string   `json:"project"`
}

type clusterArgs struct {
	clusterSpec
	DeletionProtection    bool       `json:"deletionProtection"`
	MinMasterVersion      string     `json:"minMasterVersion,omitempty"`
	NodePools             []poolArgs `json:"nodePools,omitempty"`
	RemoveDefaultNodePool bool       `json:"removeDefaultNodePool,omitempty"`
}

type clusterState struct {
	clusterSpec
	// DeletionProtection is a property of the provider only; the service does not store it.
	DeletionProtection *bool       `json:"deletionProtection,omitempty"`
	MasterVersion      string      `json:"masterVersion"`
	NodePools          []poolState `json:"nodePools"`
}

type loggingConfig struct {
	EnableComponents []string `json:"enableComponents"`
}

// api returns the configuration in the API's form. It sends an empty list, which turns logging off.
func (l *loggingConfig) api() *container.LoggingConfig {
	if l == nil {
		return nil
	}
	return &container.LoggingConfig{ComponentConfig: &container.LoggingComponentConfig{
		EnableComponents: l.EnableComponents, ForceSendFields: []string{"EnableComponents"},
	}}
}

type monitoringConfig struct {
	AdvancedDatapathObservabilityConfigs []*container.AdvancedDatapathObservabilityConfig `json:"advancedDatapathObservabilityConfigs,omitempty"`
	EnableComponents                     []string                                         `json:"enableComponents,omitempty"`
	ManagedPrometheus                    *container.ManagedPrometheusConfig               `json:"managedPrometheus,omitempty"`
}

func (m *monitoringConfig) api() *container.MonitoringConfig {
	if m == nil {
		return nil
	}
	out := &container.MonitoringConfig{
		ComponentConfig:         &container.MonitoringComponentConfig{EnableComponents: m.EnableComponents},
		ManagedPrometheusConfig: m.ManagedPrometheus,
	}
	if len(m.AdvancedDatapathObservabilityConfigs) > 0 {
		out.AdvancedDatapathObservabilityConfig = m.AdvancedDatapathObservabilityConfigs[0]
	}
	return out
}

// api returns the cluster to create in the API's form.
func (a *clusterArgs) api(location string) *container.Cluster {
	c := container.Cluster(a.apiCluster)
	c.Location, c.Locations, c.InitialClusterVersion = "", a.allLocations(location), a.MinMasterVersion
	c.LoggingConfig, c.MonitoringConfig, c.MaintenancePolicy = a.LoggingConfig.api(), a.MonitoringConfig.api(), a.MaintenancePolicy.api()
	c.NodeConfig = a.NodeConfig.api()
	for _, p := range a.NodePools {
		c.NodePools = append(c.NodePools, p.api())
	}
	c.NetworkConfig = &container.NetworkConfig{
		DatapathProvider: a.DatapathProvider, DefaultSnatStatus: a.DefaultSnatStatus, DnsConfig: a.DNSConfig,
		EnableCiliumClusterwideNetworkPolicy: a.EnableCiliumClusterwideNetworkPolicy, EnableFqdnNetworkPolicy: a.EnableFqdnNetworkPolicy,
		EnableIntraNodeVisibility: a.EnableIntranodeVisibility, EnableL4ilbSubsetting: a.EnableL4IlbSubsetting,
		EnableMultiNetworking: a.EnableMultiNetworking, GatewayApiConfig: a.GatewayAPIConfig,
		PrivateIpv6GoogleAccess: a.PrivateIpv6GoogleAccess, ServiceExternalIpsConfig: a.ServiceExternalIpsConfig,
	}
	if a.DefaultMaxPodsPerNode > 0 {
		c.DefaultMaxPodsConstraint = &container.MaxPodsConstraint{MaxPodsPerNode: a.DefaultMaxPodsPerNode}
	}
	if a.EnableAutopilot {
		c.Autopilot = &container.Autopilot{Enabled: true}
	}
	c.LegacyAbac = &container.LegacyAbac{Enabled: a.EnableLegacyAbac, ForceSendFields: []string{"Enabled"}}
	if a.EnableShieldedNodes != nil {
		c.ShieldedNodes = &container.ShieldedNodes{Enabled: *a.EnableShieldedNodes, ForceSendFields: []string{"Enabled"}}
	}
	if a.NetworkingMode != "" || a.IpAllocationPolicy != nil {
		c.IpAllocationPolicy = a.allocation()
	}
	if a.MasterAuthorizedNetworksConfig != nil {
		c.MasterAuthorizedNetworksConfig = authorizedNetworks(a)
	}
	c.AuthenticatorGroupsConfig = authenticatorGroups(a)
	return &c
}

// authenticatorGroups returns the security group in the API's form, where Enabled says whether there is one.
func authenticatorGroups(a *clusterArgs) *container.AuthenticatorGroupsConfig {
	if a.AuthenticatorGroupsConfig == nil {
		return nil
	}
	group := a.AuthenticatorGroupsConfig.SecurityGroup
	return &container.AuthenticatorGroupsConfig{Enabled: group != "", SecurityGroup: group, ForceSendFields: []string{"Enabled"}}
}

// allLocations returns all zones of the nodes. Pulumi's form omits the cluster's own zone.
func (a *clusterArgs) allLocations(location string) []string {
	if len(a.NodeLocations) == 0 || !core.IsZone(location) {
		return a.NodeLocations
	}
	return append([]string{location}, a.NodeLocations...)
}

// allocation returns the policy of the pods' IP addresses. In Pulumi's form, the networking mode is part of the
// cluster.
func (a *clusterArgs) allocation() *container.IPAllocationPolicy {
	wanted := container.IPAllocationPolicy{}
	if a.IpAllocationPolicy != nil {
		wanted = *a.IpAllocationPolicy
	}
	wanted.UseIpAliases = a.NetworkingMode != routes
	wanted.UseRoutes = a.NetworkingMode == routes
	return &wanted
}

// authorizedNetworks returns the authorized networks in the API's form, where Enabled says whether there are any.
func authorizedNetworks(a *clusterArgs) *container.MasterAuthorizedNetworksConfig {
	if a.MasterAuthorizedNetworksConfig == nil {
		return &container.MasterAuthorizedNetworksConfig{ForceSendFields: []string{"Enabled"}}
	}
	wanted := *a.MasterAuthorizedNetworksConfig
	wanted.Enabled = true
	return &wanted
}

// specOf converts a cluster from the API's form to Pulumi's.
func specOf(c *container.Cluster, project, location string) clusterSpec {
	spec := clusterSpec{
		apiCluster: apiCluster(*c), MaintenancePolicy: maintenanceOf(c.MaintenancePolicy), NodeConfig: nodeConfigOf(c.NodeConfig),
		Location: location, NodeVersion: c.CurrentNodeVersion, Project: project,
	}
	if l := c.LoggingConfig; l != nil && l.ComponentConfig != nil {
		spec.LoggingConfig = &loggingConfig{l.ComponentConfig.EnableComponents}
	}
	if m := c.MonitoringConfig; m != nil {
		spec.MonitoringConfig = &monitoringConfig{ManagedPrometheus: m.ManagedPrometheusConfig}
		if m.ComponentConfig != nil {
			spec.MonitoringConfig.EnableComponents = m.ComponentConfig.EnableComponents
		}
		if o := m.AdvancedDatapathObservabilityConfig; o != nil {
			spec.MonitoringConfig.AdvancedDatapathObservabilityConfigs = []*container.AdvancedDatapathObservabilityConfig{o}
		}
	}
	if n := c.NetworkConfig; n != nil {
		spec.DatapathProvider, spec.DefaultSnatStatus, spec.DNSConfig = n.DatapathProvider, n.DefaultSnatStatus, n.DnsConfig
		spec.EnableCiliumClusterwideNetworkPolicy, spec.EnableFqdnNetworkPolicy = n.EnableCiliumClusterwideNetworkPolicy, n.EnableFqdnNetworkPolicy
		spec.EnableIntranodeVisibility, spec.EnableL4IlbSubsetting = n.EnableIntraNodeVisibility, n.EnableL4ilbSubsetting
		spec.EnableMultiNetworking, spec.GatewayAPIConfig = n.EnableMultiNetworking, n.GatewayApiConfig
		spec.PrivateIpv6GoogleAccess, spec.ServiceExternalIpsConfig = n.PrivateIpv6GoogleAccess, n.ServiceExternalIpsConfig
	}
	if m := c.DefaultMaxPodsConstraint; m != nil {
		spec.DefaultMaxPodsPerNode = m.MaxPodsPerNode
	}
	spec.EnableAutopilot = c.Autopilot != nil && c.Autopilot.Enabled
	spec.EnableLegacyAbac = c.LegacyAbac != nil && c.LegacyAbac.Enabled
	if c.ShieldedNodes != nil {
		spec.EnableShieldedNodes = &c.ShieldedNodes.Enabled
	}
	if p := c.IpAllocationPolicy; p != nil {
		spec.NetworkingMode = routes
		if p.UseIpAliases {
			spec.NetworkingMode = vpcNative
		}
	}
	if m := c.MasterAuthorizedNetworksConfig; m != nil && !m.Enabled {
		spec.MasterAuthorizedNetworksConfig = nil
	}
	for _, l := range c.Locations {
		if l != location {
			spec.NodeLocations = append(spec.NodeLocations, l)
		}
	}
	return spec
}
