package container

import (
	"regexp"

	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// clusterNames matches valid names of clusters.
var clusterNames = regexp.MustCompile(`^[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?$`)

// clusterRules returns the rules of clusters. Many inputs are computed, because the service sets them if the program
// does not.
func clusterRules() rules.ByPath {
	replace, computed := rules.Rule{Replace: true}, rules.Rule{Computed: true}
	both := rules.Rule{Replace: true, Computed: true}
	autopilot := []string{"enableAutopilot"}
	ranges := []string{"ipAllocationPolicy.clusterSecondaryRangeName", "ipAllocationPolicy.servicesSecondaryRangeName"}
	return rules.ByPath{
		"binaryAuthorization.enabled": {Excludes: []string{"enableAutopilot", "binaryAuthorization.evaluationMode"}},
		"binaryAuthorization.evaluationMode": {
			Computed: true, OneOf: []string{"DISABLED", "PROJECT_SINGLETON_POLICY_ENFORCE"}, Same: core.SameAs("DISABLED"),
		},
		"clusterAutoscaling.enabled": {Computed: true, Excludes: autopilot},
		"clusterIpv4Cidr":            {Replace: true, Computed: true, Excludes: []string{"ipAllocationPolicy"}},
		"databaseEncryption.state":   {OneOf: []string{"ENCRYPTED", "DECRYPTED"}},
		"datapathProvider": {
			Replace: true, Computed: true, Same: core.SameAs("DATAPATH_PROVIDER_UNSPECIFIED"),
			OneOf: []string{"DATAPATH_PROVIDER_UNSPECIFIED", "LEGACY_DATAPATH", "ADVANCED_DATAPATH"},
		},
		"defaultMaxPodsPerNode": {Replace: true, Computed: true, Excludes: autopilot},
		"deletionProtection":    {Default: true},
		"dnsConfig.clusterDns": {
			Default: "PROVIDER_UNSPECIFIED", OneOf: []string{"PROVIDER_UNSPECIFIED", "PLATFORM_DEFAULT", "CLOUD_DNS"},
			Same: core.SameAs("PROVIDER_UNSPECIFIED"),
		},
		"dnsConfig.clusterDnsScope": {
			Default: "DNS_SCOPE_UNSPECIFIED", OneOf: []string{"DNS_SCOPE_UNSPECIFIED", "CLUSTER_SCOPE", "VPC_SCOPE"},
			Same: core.SameAs("DNS_SCOPE_UNSPECIFIED"),
		},
		"enableCiliumClusterwideNetworkPolicy": {Default: false},
		"enableFqdnNetworkPolicy":              {Default: false},
		"enableIntranodeVisibility":            {Computed: true, Excludes: autopilot},
		"enableK8sBetaApis.enabledApis":        {Set: true},
		"enableKubernetesAlpha":                {Replace: true, Default: false},
		"enableL4IlbSubsetting":                {Default: false},
		"enableLegacyAbac":                     {Default: false},
		"enableMultiNetworking":                {Replace: true, Default: false},
		"enableShieldedNodes":                  {Default: true, Excludes: autopilot},
		"enableTpu":                            {Replace: true, Computed: true, Excludes: []string{"tpuConfig"}},
		"gatewayApiConfig.channel":             {OneOf: []string{"CHANNEL_DISABLED", "CHANNEL_EXPERIMENTAL", "CHANNEL_STANDARD"}},
		"ipAllocationPolicy.additionalPodRangesConfig.podRangeNames": {Set: true},
		"ipAllocationPolicy.clusterIpv4CidrBlock":                    {Replace: true, Computed: true, Excludes: ranges},
		"ipAllocationPolicy.servicesIpv4CidrBlock":                   {Replace: true, Computed: true, Excludes: ranges},
		"ipAllocationPolicy.stackType":                               {Replace: true, Default: "IPV4", OneOf: []string{"IPV4", "IPV4_IPV6"}},
		"location":                                                   core.FromProvider(),
		"loggingService": {
			Computed: true, Excludes: []string{"clusterTelemetry"},
			OneOf: []string{"logging.googleapis.com", "logging.googleapis.com/kubernetes", "none"},
		},
		"maintenancePolicy.dailyMaintenanceWindow":                       {Excludes: []string{"maintenancePolicy.recurringWindow"}},
		"maintenancePolicy.maintenanceExclusions":                        {Set: true},
		"maintenancePolicy.maintenanceExclusions.exclusionOptions.scope": {OneOf: []string{"NO_UPGRADES", "NO_MINOR_UPGRADES", "NO_MINOR_OR_NODE_UPGRADES"}},
		"masterAuth.clientKey":                                           {Computed: true, Secret: true},
		"masterAuthorizedNetworksConfig.cidrBlocks":                      {Set: true},
		"monitoringService": {
			Computed: true, Excludes: []string{"clusterTelemetry"},
			OneOf: []string{"monitoring.googleapis.com", "monitoring.googleapis.com/kubernetes", "none"},
		},
		"name":                   {Replace: true, Check: core.Matching(clusterNames, "1 to 40 lower case letters, digits and dashes, a letter first and no dash last")},
		"network":                {Replace: true, Default: "default", Same: core.SameName},
		"networkPolicy":          {Excludes: autopilot},
		"networkPolicy.provider": {OneOf: []string{"PROVIDER_UNSPECIFIED", "CALICO"}, Same: core.SameAs("PROVIDER_UNSPECIFIED")},
		"networkingMode":         {Replace: true, Computed: true, OneOf: []string{vpcNative, routes}},
		"nodeLocations":          {Computed: true, Set: true},
		"nodePools":              {Replace: true, Computed: true, Excludes: autopilot},
		"project":                core.FromProvider(),
		"releaseChannel.channel": {OneOf: []string{"UNSPECIFIED", "RAPID", "REGULAR", "STABLE"}},
		"removeDefaultNodePool":  {Excludes: autopilot},
		"securityPostureConfig.mode": {
			Computed: true, Same: core.SameAs("MODE_UNSPECIFIED"), OneOf: []string{"DISABLED", "BASIC", "ENTERPRISE", "MODE_UNSPECIFIED"},
		},
		"securityPostureConfig.vulnerabilityMode": {
			Computed: true, Same: core.SameAs("VULNERABILITY_MODE_UNSPECIFIED"),
			OneOf: []string{"VULNERABILITY_DISABLED", "VULNERABILITY_BASIC", "VULNERABILITY_ENTERPRISE", "VULNERABILITY_MODE_UNSPECIFIED"},
		},
		"subnetwork": {Replace: true, Computed: true, Same: core.SameName},
	}.Each(replace, `
		clusterAutoscaling.autoProvisioningDefaults.bootDiskKmsKey confidentialNodes.enabled description enableAutopilot initialNodeCount
		masterAuth.clientCertificateConfig masterAuth.clientCertificateConfig.issueClientCertificate
		privateClusterConfig.enablePrivateNodes privateClusterConfig.privateEndpointSubnetwork tpuConfig.enabled
		tpuConfig.useServiceNetworking
	`).Each(both, `
		confidentialNodes ipAllocationPolicy ipAllocationPolicy.clusterSecondaryRangeName ipAllocationPolicy.podCidrOverprovisionConfig
		ipAllocationPolicy.servicesSecondaryRangeName nodeConfig privateClusterConfig.masterIpv4CidrBlock
	`).Each(computed, `
		addonsConfig addonsConfig.cloudrunConfig addonsConfig.configConnectorConfig addonsConfig.dnsCacheConfig
		addonsConfig.gcePersistentDiskCsiDriverConfig addonsConfig.gcpFilestoreCsiDriverConfig addonsConfig.gcsFuseCsiDriverConfig
		addonsConfig.gkeBackupAgentConfig addonsConfig.horizontalPodAutoscaling addonsConfig.httpLoadBalancing
		addonsConfig.istioConfig addonsConfig.kalmConfig addonsConfig.networkPolicyConfig addonsConfig.rayOperatorConfigs
		addonsConfig.statefulHaConfig authenticatorGroupsConfig clusterAutoscaling clusterAutoscaling.autoProvisioningDefaults
		clusterAutoscaling.autoProvisioningLocations clusterTelemetry costManagementConfig databaseEncryption defaultSnatStatus
		gatewayApiConfig identityServiceConfig loggingConfig masterAuth masterAuth.clientCertificate masterAuth.clusterCaCertificate
		masterAuthorizedNetworksConfig masterAuthorizedNetworksConfig.gcpPublicCidrsAccessEnabled meshCertificates monitoringConfig
		monitoringConfig.advancedDatapathObservabilityConfigs monitoringConfig.enableComponents monitoringConfig.managedPrometheus
		nodePoolAutoConfig nodePoolDefaults nodeVersion notificationConfig privateClusterConfig
		privateClusterConfig.masterGlobalAccessConfig privateClusterConfig.peeringName privateClusterConfig.privateEndpoint
		privateClusterConfig.publicEndpoint privateIpv6GoogleAccess protectConfig releaseChannel securityPostureConfig
		serviceExternalIpsConfig tpuConfig verticalPodAutoscaling workloadAltsConfig workloadIdentityConfig
	`).With("nodeConfig", nodeConfigRules()).With("nodePools", poolRules())
}

// replacingSwitches returns the settings that the program turns off although the service can only turn them on, so that
// the change needs a new cluster.
func replacingSwitches(olds, news property.Map) []string {
	var paths []string
	for _, k := range []string{"enableFqdnNetworkPolicy", "enableL4IlbSubsetting"} {
		if o, n := olds.Get(k), news.Get(k); o.IsBool() && o.AsBool() && n.IsBool() && !n.AsBool() {
			paths = append(paths, k)
		}
	}
	return paths
}
