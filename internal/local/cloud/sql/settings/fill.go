package settings

import (
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// Fill sets the settings that Google Cloud sets if a client does not.
func Fill(settings *sqladmin.Settings) {
	settings.Kind = "sql#settings"
	api.SetDefault(&settings.ActivationPolicy, "ALWAYS")
	api.SetDefault(&settings.AvailabilityType, "ZONAL")
	api.SetDefault(&settings.ConnectorEnforcement, "NOT_REQUIRED")
	api.SetDefault(&settings.DataDiskType, "PD_SSD")
	api.SetDefault(&settings.Edition, "ENTERPRISE")
	api.SetDefault(&settings.PricingPlan, "PER_USE")
	api.SetDefault(&settings.ReplicationType, "SYNCHRONOUS")
	if settings.DataDiskSizeGb == 0 {
		settings.DataDiskSizeGb = 10
	}
	api.SetMissing(&settings.StorageAutoResize, true)
	api.SetMissing(&settings.IpConfiguration, sqladmin.IpConfiguration{Ipv4Enabled: true})
	api.SetDefault(&settings.IpConfiguration.ServerCaMode, InternalCA)
	api.SetDefault(&settings.IpConfiguration.SslMode, "ALLOW_UNENCRYPTED_AND_ENCRYPTED")
	api.SetMissing(&settings.BackupConfiguration, sqladmin.BackupConfiguration{Kind: "sql#backupConfiguration"})
	api.SetDefault(&settings.BackupConfiguration.StartTime, "12:00")
}
