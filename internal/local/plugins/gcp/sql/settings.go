package sql

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/frame/value"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// apiSettings is the API's settings without their MarshalJSON method, which would hide the other fields of
// instanceSettings.
type apiSettings sqladmin.Settings

// instanceSettings is the settings of an instance in Pulumi's form. Its own fields replace those of the API that have
// another form there.
type instanceSettings struct {
	apiSettings
	DenyMaintenancePeriod *sqladmin.DenyMaintenancePeriod `json:"denyMaintenancePeriod,omitempty"`
	DiskAutoresize        *bool                           `json:"diskAutoresize,omitempty"`
	DiskAutoresizeLimit   int64                           `json:"diskAutoresizeLimit"`
	DiskSize              int64                           `json:"diskSize"`
	DiskType              string                          `json:"diskType"`
	IPConfiguration       *ipConfiguration                `json:"ipConfiguration,omitempty"`
	Version               int64                           `json:"version,omitempty"`
}

type apiIPConfiguration sqladmin.IpConfiguration

type ipConfiguration struct {
	apiIPConfiguration
	PscConfigs []*sqladmin.PscConfig `json:"pscConfigs,omitempty"`
}

// api returns the settings in the API's form. It sends empty flags and labels, so that the API removes the old ones.
func (s *instanceSettings) api() *sqladmin.Settings {
	out := sqladmin.Settings(s.apiSettings)
	out.DataDiskSizeGb, out.DataDiskType = s.DiskSize, s.DiskType
	out.StorageAutoResize, out.StorageAutoResizeLimit = s.DiskAutoresize, s.DiskAutoresizeLimit
	out.SettingsVersion = s.Version
	if p := s.DenyMaintenancePeriod; p != nil {
		out.DenyMaintenancePeriods = []*sqladmin.DenyMaintenancePeriod{p}
	}
	if ip := s.IPConfiguration; ip != nil {
		converted := sqladmin.IpConfiguration(ip.apiIPConfiguration)
		if len(ip.PscConfigs) > 0 {
			converted.PscConfig = ip.PscConfigs[0]
		}
		out.IpConfiguration = &converted
	}
	out.ForceSendFields = append(out.ForceSendFields, "DatabaseFlags", "DeletionProtectionEnabled", "UserLabels")
	return &out
}

// settingsOf converts settings from the API's form to Pulumi's.
func settingsOf(s *sqladmin.Settings) *instanceSettings {
	if s == nil {
		return &instanceSettings{}
	}
	out := &instanceSettings{
		apiSettings: apiSettings(*s), DiskAutoresize: s.StorageAutoResize, DiskAutoresizeLimit: s.StorageAutoResizeLimit,
		DiskSize: s.DataDiskSizeGb, DiskType: s.DataDiskType, Version: s.SettingsVersion,
	}
	if len(s.DenyMaintenancePeriods) > 0 {
		out.DenyMaintenancePeriod = s.DenyMaintenancePeriods[0]
	}
	if ip := s.IpConfiguration; ip != nil {
		out.IPConfiguration = &ipConfiguration{apiIPConfiguration: apiIPConfiguration(*ip)}
		if ip.PscConfig != nil {
			out.IPConfiguration.PscConfigs = []*sqladmin.PscConfig{ip.PscConfig}
		}
	}
	return out
}

func settingsRules() rules.ByPath {
	computed := rules.Rule{Computed: true}
	return rules.ByPath{
		"activationPolicy": {Default: "ALWAYS"},
		"availabilityType": {Default: "ZONAL", OneOf: []string{"REGIONAL", "ZONAL"}},
		"backupConfiguration.backupRetentionSettings.retentionUnit": {Default: "COUNT"},
		"collation":                                          {Replace: true},
		"connectorEnforcement":                               {Computed: true, OneOf: []string{"NOT_REQUIRED", "REQUIRED"}},
		"dataCacheConfig.dataCacheEnabled":                   {Default: false},
		"databaseFlags":                                      {Set: true},
		"diskAutoresize":                                     {Default: true},
		"diskAutoresizeLimit":                                {Default: 0},
		"diskType":                                           {Replace: true, Default: "PD_SSD", Same: sameDiskType},
		"edition":                                            {Default: "ENTERPRISE", OneOf: []string{"ENTERPRISE", "ENTERPRISE_PLUS"}},
		"insightsConfig.queryPlansPerMinute":                 {Computed: true, Range: [2]int{0, 20}},
		"insightsConfig.queryStringLength":                   {Default: 1024, Range: [2]int{256, 4500}},
		"ipConfiguration.authorizedNetworks":                 {Set: true},
		"ipConfiguration.ipv4Enabled":                        {Default: true},
		"ipConfiguration.privateNetwork":                     {Same: core.SameName},
		"ipConfiguration.pscConfigs":                         {Set: true},
		"ipConfiguration.pscConfigs.allowedConsumerProjects": {Set: true},
		"ipConfiguration.serverCaMode":                       {Computed: true, OneOf: []string{"CA_MODE_UNSPECIFIED", "GOOGLE_MANAGED_INTERNAL_CA", "GOOGLE_MANAGED_CAS_CA"}},
		"ipConfiguration.sslMode":                            {Computed: true, OneOf: []string{"ALLOW_UNENCRYPTED_AND_ENCRYPTED", "ENCRYPTED_ONLY", "TRUSTED_CLIENT_CERTIFICATE_REQUIRED"}},
		"maintenanceWindow.day":                              {Range: [2]int{1, 7}},
		"maintenanceWindow.hour":                             {Range: [2]int{0, 23}},
		"passwordValidationPolicy.complexity":                {OneOf: []string{"COMPLEXITY_DEFAULT", "COMPLEXITY_UNSPECIFIED"}},
		"pricingPlan":                                        {Default: "PER_USE"},
		"timeZone":                                           {Replace: true},
	}.Each(computed, `
		backupConfiguration backupConfiguration.backupRetentionSettings backupConfiguration.startTime
		backupConfiguration.transactionLogRetentionDays diskSize insightsConfig ipConfiguration locationPreference userLabels version
	`)
}

// replacingSettings returns the paths of the changes that need a new instance: a smaller disk, the removal of the
// private network, and another primary instance.
func replacingSettings(olds, news property.Map) []string {
	var paths []string
	size := func(m property.Map) float64 {
		if v := value.At(m, "settings.diskSize"); v.IsNumber() {
			return v.AsNumber()
		}
		return 0
	}
	if n := size(news); n != 0 && n < size(olds) {
		paths = append(paths, "settings.diskSize")
	}
	const network = "settings.ipConfiguration.privateNetwork"
	if !value.At(olds, network).IsNull() && value.At(news, network).IsNull() {
		paths = append(paths, network)
	}
	const primary = "masterInstanceName"
	if !value.At(news, primary).IsNull() {
		paths = append(paths, primary)
	}
	return paths
}

// sameDiskType reports whether two disk types are equal. It ignores case and treats dashes as underscores.
func sameDiskType(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, "-", "_"), strings.ReplaceAll(b, "-", "_"))
}
