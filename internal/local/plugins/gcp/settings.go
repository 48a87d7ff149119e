package gcp

import (
	"fmt"
	"regexp"

	"google.golang.org/api/sqladmin/v1beta4"
)

// instanceSettings are those of a Cloud SQL instance in Pulumi's spelling, where it has another one than the API.
type instanceSettings struct {
	ActivationPolicy          string                        `json:"activationPolicy,omitempty"`
	AvailabilityType          string                        `json:"availabilityType,omitempty"`
	BackupConfiguration       *sqladmin.BackupConfiguration `json:"backupConfiguration,omitempty"`
	Collation                 string                        `json:"collation,omitempty"`
	ConnectorEnforcement      string                        `json:"connectorEnforcement,omitempty"`
	DatabaseFlags             []*sqladmin.DatabaseFlags     `json:"databaseFlags"`
	DeletionProtectionEnabled bool                          `json:"deletionProtectionEnabled"`
	DiskAutoresize            *bool                         `json:"diskAutoresize,omitempty"`
	DiskAutoresizeLimit       int64                         `json:"diskAutoresizeLimit,omitempty"`
	DiskSize                  int64                         `json:"diskSize,omitempty"`
	DiskType                  string                        `json:"diskType,omitempty"`
	Edition                   string                        `json:"edition,omitempty"`
	IPConfiguration           *sqladmin.IpConfiguration     `json:"ipConfiguration,omitempty"`
	LocationPreference        *sqladmin.LocationPreference  `json:"locationPreference,omitempty"`
	MaintenanceWindow         *sqladmin.MaintenanceWindow   `json:"maintenanceWindow,omitempty"`
	PricingPlan               string                        `json:"pricingPlan,omitempty"`
	Tier                      string                        `json:"tier"`
	TimeZone                  string                        `json:"timeZone,omitempty"`
	UserLabels                map[string]string             `json:"userLabels"`
	Version                   int64                         `json:"version,omitempty"`
}

// api returns the settings as the API wants them. Lists and flags that can be taken back are sent even when empty.
func (s *instanceSettings) api() *sqladmin.Settings {
	return &sqladmin.Settings{
		ActivationPolicy: s.ActivationPolicy, AvailabilityType: s.AvailabilityType, BackupConfiguration: s.BackupConfiguration,
		Collation: s.Collation, ConnectorEnforcement: s.ConnectorEnforcement, DatabaseFlags: s.DatabaseFlags,
		DeletionProtectionEnabled: s.DeletionProtectionEnabled, StorageAutoResize: s.DiskAutoresize,
		StorageAutoResizeLimit: s.DiskAutoresizeLimit, DataDiskSizeGb: s.DiskSize, DataDiskType: s.DiskType, Edition: s.Edition,
		IpConfiguration: s.IPConfiguration, LocationPreference: s.LocationPreference, MaintenanceWindow: s.MaintenanceWindow,
		PricingPlan: s.PricingPlan, Tier: s.Tier, TimeZone: s.TimeZone, UserLabels: s.UserLabels,
		ForceSendFields: []string{"DatabaseFlags", "DeletionProtectionEnabled", "UserLabels"},
	}
}

func settingsOf(s *sqladmin.Settings) *instanceSettings {
	if s == nil {
		return &instanceSettings{}
	}
	out := &instanceSettings{
		ActivationPolicy: s.ActivationPolicy, AvailabilityType: s.AvailabilityType, BackupConfiguration: s.BackupConfiguration,
		Collation: s.Collation, ConnectorEnforcement: s.ConnectorEnforcement, DatabaseFlags: s.DatabaseFlags,
		DeletionProtectionEnabled: s.DeletionProtectionEnabled, DiskAutoresize: s.StorageAutoResize,
		DiskAutoresizeLimit: s.StorageAutoResizeLimit, DiskSize: s.DataDiskSizeGb, DiskType: s.DataDiskType, Edition: s.Edition,
		IPConfiguration: s.IpConfiguration, LocationPreference: s.LocationPreference, MaintenanceWindow: s.MaintenanceWindow,
		PricingPlan: s.PricingPlan, Tier: s.Tier, TimeZone: s.TimeZone, UserLabels: s.UserLabels, Version: s.SettingsVersion,
	}
	if out.DatabaseFlags == nil {
		out.DatabaseFlags = []*sqladmin.DatabaseFlags{}
	}
	if out.UserLabels == nil {
		out.UserLabels = map[string]string{}
	}
	return out
}

// lookup returns the settings as the function returns them, where single objects are lists.
func (s *instanceSettings) lookup() map[string]any {
	m := map[string]any{
		"activationPolicy": s.ActivationPolicy, "availabilityType": s.AvailabilityType, "collation": s.Collation,
		"connectorEnforcement": s.ConnectorEnforcement, "databaseFlags": s.DatabaseFlags,
		"deletionProtectionEnabled": s.DeletionProtectionEnabled, "diskAutoresizeLimit": s.DiskAutoresizeLimit,
		"diskAutoresize": s.DiskAutoresize != nil && *s.DiskAutoresize, "diskSize": s.DiskSize, "diskType": s.DiskType,
		"edition": s.Edition, "pricingPlan": s.PricingPlan, "tier": s.Tier, "timeZone": s.TimeZone,
		"userLabels": s.UserLabels, "version": s.Version,
	}
	if s.IPConfiguration != nil {
		m["ipConfigurations"] = []any{s.IPConfiguration}
	}
	if s.BackupConfiguration != nil {
		m["backupConfigurations"] = []any{s.BackupConfiguration}
	}
	return m
}

// parseID returns the named parts of an ID in the first pattern that it fits.
func parseID(id string, patterns []*regexp.Regexp) (map[string]string, error) {
	for _, p := range patterns {
		m := p.FindStringSubmatch(id)
		if m == nil {
			continue
		}
		parts := map[string]string{}
		for i, name := range p.SubexpNames() {
			if name != "" {
				parts[name] = m[i]
			}
		}
		return parts, nil
	}
	return nil, fmt.Errorf("ID %q has none of the known forms, the longest of which is %s", id, patterns[0])
}

// first returns the first value that is not empty.
func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
