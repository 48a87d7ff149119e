// Package settings checks the properties and the settings of Cloud SQL instances, and sets their defaults.
package settings

import (
	"regexp"
	"slices"

	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
)

// The values of serverCaMode: whether the instance itself or Google's Certificate Authority Service signs the server's
// certificate. Connectors check the instance's name in the first mode, and its DNS name in the second.
const (
	InternalCA = "GOOGLE_MANAGED_INTERNAL_CA"
	ServiceCA  = "GOOGLE_MANAGED_CAS_CA"
)

var (
	instanceNames = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,96}[a-z0-9])?$`)
	regions       = regexp.MustCompile(`^[a-z]+-[a-z]+\d+$`)
	flagNames     = regexp.MustCompile(`^[a-z][a-z0-9_.]{0,127}$`)
	flagValues    = regexp.MustCompile(`^[ -~]{0,1000}$`)
)

// CheckNew returns an error for a new instance that Cloud SQL would reject, or that the emulator cannot
// provide.
func CheckNew(wanted *sqladmin.DatabaseInstance) error {
	if !instanceNames.MatchString(wanted.Name) {
		return api.LegacyInvalid("Invalid request: Invalid value for field: name: %q must match %s.", wanted.Name, instanceNames)
	}
	if wanted.Region != "" && !regions.MatchString(wanted.Region) {
		return api.LegacyInvalid("Invalid request: Invalid value for region: %s.", wanted.Region)
	}
	if _, ok := engine.FamilyOf(wanted.DatabaseVersion); !ok {
		return api.LegacyInvalid("Invalid request: databaseVersion %s is not emulated: use MYSQL_8_0.", wanted.DatabaseVersion)
	}
	for name, set := range map[string]bool{
		"diskEncryptionConfiguration": wanted.DiskEncryptionConfiguration != nil && wanted.DiskEncryptionConfiguration.KmsKeyName != "",
		"failoverReplica":             wanted.FailoverReplica != nil,
		"instanceType":                wanted.InstanceType != "" && wanted.InstanceType != "CLOUD_SQL_INSTANCE",
		"masterInstanceName":          wanted.MasterInstanceName != "",
		"onPremisesConfiguration":     wanted.OnPremisesConfiguration != nil,
		"replicaConfiguration":        wanted.ReplicaConfiguration != nil,
	} {
		if set {
			return api.LegacyInvalid("Invalid request: %s is not emulated.", name)
		}
	}
	return Check(wanted.Settings)
}

// Check returns an error for settings without the required fields, and for settings that the emulator's engine
// would ignore.
func Check(settings *sqladmin.Settings) error {
	if settings == nil || settings.Tier == "" {
		return api.LegacyInvalid("Invalid request: Missing required field: settings.tier.")
	}
	if !slices.Contains([]string{"", "ALWAYS", "NEVER", "ON_DEMAND"}, settings.ActivationPolicy) {
		return api.LegacyInvalid("Invalid request: Invalid value for activationPolicy: %s.", settings.ActivationPolicy)
	}
	if err := checkFlags(settings.DatabaseFlags); err != nil {
		return err
	}
	ip := settings.IpConfiguration
	if ip == nil {
		return nil
	}
	if !ip.Ipv4Enabled && ip.PrivateNetwork == "" && (ip.PscConfig == nil || !ip.PscConfig.PscEnabled) {
		return api.LegacyInvalid("Invalid request: At least one of Public IP or Private IP or PSC connectivity must be enabled.")
	}
	for name, set := range map[string]bool{
		"serverCaMode " + api.Printable(ip.ServerCaMode): !slices.Contains([]string{"", InternalCA, ServiceCA}, ip.ServerCaMode),
		"pscConfig": ip.PscConfig != nil && ip.PscConfig.PscEnabled,
		"requireSsl and sslMode: the server here speaks without TLS, which": ip.RequireSsl ||
			ip.SslMode == "ENCRYPTED_ONLY" || ip.SslMode == "TRUSTED_CLIENT_CERTIFICATE_REQUIRED",
	} {
		if set {
			return api.LegacyInvalid("Invalid request: settings.ipConfiguration.%s is not emulated.", name)
		}
	}
	return nil
}

// checkFlags returns an error for flags with an invalid name or value.
func checkFlags(flags []*sqladmin.DatabaseFlags) error {
	for _, flag := range flags {
		if flag == nil || !flagNames.MatchString(flag.Name) || !flagValues.MatchString(flag.Value) {
			return api.LegacyInvalid("Invalid request: Invalid flag for instance settings.databaseFlags.")
		}
	}
	return nil
}
