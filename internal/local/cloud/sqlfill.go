package cloud

import (
	"strconv"
	"strings"

	sqladmin "google.golang.org/api/sqladmin/v1beta4"
)

// fillInstance sets the fields that Google Cloud sets in a new instance.
func (s *sqlService) fillInstance(c *call, made *instance) {
	in := made.Instance
	setDefault(&in.Region, "us-central1")
	setDefault(&in.GceZone, zonesOf(in.Region)[0])
	in.Kind = "sql#instance"
	in.Project = c.project.ID
	in.State = "PENDING_CREATE"
	in.BackendType = "SECOND_GEN"
	in.InstanceType = "CLOUD_SQL_INSTANCE"
	in.DatabaseInstalledVersion = made.family().installed(in.DatabaseVersion)
	in.ConnectionName = in.Project + ":" + in.Region + ":" + in.Name
	in.SelfLink = s.instanceLink(in.Project, in.Name)
	in.CreateTime = timestamp(s.now())
	in.IpAddresses = nil
	in.ServiceAccountEmailAddress = "p" + strconv.FormatInt(c.project.Number, 10) + "-" + strings.ToLower(randomDigits(6)) + "@gcp-sa-cloud-sql.iam.gserviceaccount.com"
	fillSettings(in.Settings)
	in.Settings.SettingsVersion = 1
	in.Etag = randomText(32)
}

func fillSettings(settings *sqladmin.Settings) {
	settings.Kind = "sql#settings"
	setDefault(&settings.ActivationPolicy, "ALWAYS")
	setDefault(&settings.AvailabilityType, "ZONAL")
	setDefault(&settings.ConnectorEnforcement, "NOT_REQUIRED")
	setDefault(&settings.DataDiskType, "PD_SSD")
	setDefault(&settings.Edition, "ENTERPRISE")
	setDefault(&settings.PricingPlan, "PER_USE")
	setDefault(&settings.ReplicationType, "SYNCHRONOUS")
	if settings.DataDiskSizeGb == 0 {
		settings.DataDiskSizeGb = 10
	}
	setMissing(&settings.StorageAutoResize, true)
	setMissing(&settings.IpConfiguration, sqladmin.IpConfiguration{Ipv4Enabled: true})
	setDefault(&settings.IpConfiguration.SslMode, "ALLOW_UNENCRYPTED_AND_ENCRYPTED")
	setMissing(&settings.BackupConfiguration, sqladmin.BackupConfiguration{Kind: "sql#backupConfiguration"})
	setDefault(&settings.BackupConfiguration.StartTime, "12:00")
}

// addresses returns the IP addresses of the instance in the API's form, if address is not empty.
func (i *instance) addresses(address string) []*sqladmin.IpMapping {
	var mapped []*sqladmin.IpMapping
	if ip := i.Instance.Settings.IpConfiguration; address != "" {
		if ip.Ipv4Enabled {
			mapped = append(mapped, &sqladmin.IpMapping{Type: "PRIMARY", IpAddress: address})
		}
		if ip.PrivateNetwork != "" {
			mapped = append(mapped, &sqladmin.IpMapping{Type: "PRIVATE", IpAddress: address})
		}
	}
	return mapped
}
