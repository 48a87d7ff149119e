package container

import (
	"strings"

	"google.golang.org/api/container/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// apiNodeConfig is the API's node configuration without its MarshalJSON method, which would hide the other fields of
// nodeConfig.
type apiNodeConfig container.NodeConfig

// nodeConfig is a node configuration in Pulumi's form. Its own fields replace those of the API that have another form
// there.
type nodeConfig struct {
	apiNodeConfig
	EffectiveTaints     []*container.NodeTaint `json:"effectiveTaints,omitempty"`
	GuestAccelerators   []guestAccelerator     `json:"guestAccelerators,omitempty"`
	LoggingVariant      string                 `json:"loggingVariant,omitempty"`
	ResourceManagerTags map[string]string      `json:"resourceManagerTags,omitempty"`
	SandboxConfig       *sandboxConfig         `json:"sandboxConfig,omitempty"`
}

type apiAccelerator container.AcceleratorConfig

type guestAccelerator struct {
	apiAccelerator
	Count int64  `json:"count"`
	Type  string `json:"type"`
}

type sandboxConfig struct {
	SandboxType string `json:"sandboxType"`
}

// api returns the configuration in the API's form.
func (n *nodeConfig) api() *container.NodeConfig {
	if n == nil {
		return nil
	}
	out := container.NodeConfig(n.apiNodeConfig)
	for _, a := range n.GuestAccelerators {
		wanted := container.AcceleratorConfig(a.apiAccelerator)
		wanted.AcceleratorCount, wanted.AcceleratorType = a.Count, a.Type
		out.Accelerators = append(out.Accelerators, &wanted)
	}
	out.LoggingConfig = loggingVariant(n.LoggingVariant)
	if len(n.ResourceManagerTags) > 0 {
		out.ResourceManagerTags = &container.ResourceManagerTags{Tags: n.ResourceManagerTags}
	}
	if n.SandboxConfig != nil && strings.EqualFold(n.SandboxConfig.SandboxType, "gvisor") {
		out.SandboxConfig = &container.SandboxConfig{Type: "GVISOR"}
	}
	return &out
}

func loggingVariant(variant string) *container.NodePoolLoggingConfig {
	if variant == "" {
		return nil
	}
	return &container.NodePoolLoggingConfig{VariantConfig: &container.LoggingVariantConfig{Variant: variant}}
}

// nodeConfigOf converts a configuration from the API's form to Pulumi's.
func nodeConfigOf(c *container.NodeConfig) *nodeConfig {
	if c == nil {
		return nil
	}
	out := &nodeConfig{apiNodeConfig: apiNodeConfig(*c), EffectiveTaints: c.Taints}
	for _, a := range c.Accelerators {
		out.GuestAccelerators = append(out.GuestAccelerators, guestAccelerator{apiAccelerator(*a), a.AcceleratorCount, a.AcceleratorType})
	}
	if l := c.LoggingConfig; l != nil && l.VariantConfig != nil {
		out.LoggingVariant = l.VariantConfig.Variant
	}
	if c.ResourceManagerTags != nil {
		out.ResourceManagerTags = c.ResourceManagerTags.Tags
	}
	if c.SandboxConfig != nil {
		out.SandboxConfig = &sandboxConfig{strings.ToLower(c.SandboxConfig.Type)}
	}
	return out
}

// nodeConfigRules returns the rules of a node configuration, of a cluster or of a node pool.
func nodeConfigRules() rules.ByPath {
	replace, computed := rules.Rule{Replace: true}, rules.Rule{Computed: true}
	both := rules.Rule{Replace: true, Computed: true}
	return rules.ByPath{
		"diskSizeGb": {Computed: true, Range: rules.AtLeast(10)},
		"guestAccelerators.gpuDriverInstallationConfig.gpuDriverVersion": {
			Replace: true, OneOf: []string{"GPU_DRIVER_VERSION_UNSPECIFIED", "INSTALLATION_DISABLED", "DEFAULT", "LATEST"},
		},
		"guestAccelerators.type": {Replace: true, Same: core.SameName},
		"hostMaintenancePolicy.maintenanceInterval": {
			Replace: true, OneOf: []string{"MAINTENANCE_INTERVAL_UNSPECIFIED", "AS_NEEDED", "PERIODIC"},
		},
		"imageType":                      {Computed: true, Same: strings.EqualFold},
		"kubeletConfig.cpuManagerPolicy": {OneOf: []string{"static", "none", ""}},
		"linuxNodeConfig.cgroupMode": {
			Computed: true, Same: core.SameAs("CGROUP_MODE_UNSPECIFIED"),
			OneOf: []string{"CGROUP_MODE_UNSPECIFIED", "CGROUP_MODE_V1", "CGROUP_MODE_V2"},
		},
		"loggingVariant": {Computed: true, OneOf: []string{"DEFAULT", "MAX_THROUGHPUT"}},
		"oauthScopes":    {Replace: true, Computed: true, Set: true},
		"preemptible":    {Replace: true, Default: false},
		"reservationAffinity.consumeReservationType": {
			Replace: true, OneOf: []string{"UNSPECIFIED", "NO_RESERVATION", "ANY_RESERVATION", "SPECIFIC_RESERVATION"},
		},
		"reservationAffinity.values":                       {Replace: true, Set: true},
		"sandboxConfig.sandboxType":                        {OneOf: []string{"gvisor"}},
		"shieldedInstanceConfig.enableIntegrityMonitoring": {Replace: true, Default: true},
		"shieldedInstanceConfig.enableSecureBoot":          {Replace: true, Default: false},
		"soleTenantConfig.nodeAffinities":                  {Replace: true, Set: true},
		"soleTenantConfig.nodeAffinities.operator":         {Replace: true, OneOf: []string{"IN", "NOT_IN"}},
		"spot":                        {Replace: true, Default: false},
		"taints.effect":               {OneOf: []string{"NO_SCHEDULE", "PREFER_NO_SCHEDULE", "NO_EXECUTE"}},
		"workloadMetadataConfig.mode": {OneOf: []string{"MODE_UNSPECIFIED", "GCE_METADATA", "GKE_METADATA"}},
	}.Each(replace, `
		advancedMachineFeatures advancedMachineFeatures.enableNestedVirtualization advancedMachineFeatures.threadsPerCore
		bootDiskKmsKey confidentialNodes.enabled enableConfidentialStorage ephemeralStorageConfig
		ephemeralStorageConfig.localSsdCount ephemeralStorageLocalSsdConfig ephemeralStorageLocalSsdConfig.localSsdCount
		gcfsConfig gcfsConfig.enabled guestAccelerators.count guestAccelerators.gpuPartitionSize guestAccelerators.gpuSharingConfig
		guestAccelerators.gpuSharingConfig.gpuSharingStrategy guestAccelerators.gpuSharingConfig.maxSharedClientsPerGpu
		gvnic gvnic.enabled hostMaintenancePolicy localNvmeSsdBlockConfig localNvmeSsdBlockConfig.localSsdCount nodeGroup
		reservationAffinity reservationAffinity.key sandboxConfig secondaryBootDisks secondaryBootDisks.diskImage
		secondaryBootDisks.mode soleTenantConfig soleTenantConfig.nodeAffinities.key soleTenantConfig.nodeAffinities.values
	`).Each(both, `
		confidentialNodes guestAccelerators guestAccelerators.gpuDriverInstallationConfig localSsdCount metadata minCpuPlatform
		serviceAccount shieldedInstanceConfig
	`).Each(computed, "diskType effectiveTaints labels machineType workloadMetadataConfig")
}
