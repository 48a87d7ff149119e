package serverproxy

import (
	"strconv"
	"strings"
	"time"

	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/sql/settings"
)

// ConnectSettings returns the properties of an instance that a connector needs before it connects. Source of the fields:
// cloud.google.com/go/cloudsqlconn, internal/cloudsql/refresh.go.
func (i Instance) ConnectSettings(in *sqladmin.DatabaseInstance) *sqladmin.ConnectSettings {
	answer := &sqladmin.ConnectSettings{
		Kind:            "sql#connectSettings",
		BackendType:     in.BackendType,
		ConnectionName:  in.ConnectionName,
		DatabaseVersion: in.DatabaseVersion,
		IpAddresses:     in.IpAddresses,
		Region:          in.Region,
		ServerCaCert:    in.ServerCaCert,
		ServerCaMode:    in.Settings.IpConfiguration.ServerCaMode,
	}
	// An instance from an earlier version of the emulator has no mode.
	api.SetDefault(&answer.ServerCaMode, settings.InternalCA)
	if answer.ServerCaMode == settings.ServiceCA {
		answer.DnsName = i.DNSName()
		answer.DnsNames = []*sqladmin.DnsNameMapping{{Name: answer.DnsName, ConnectionType: "PUBLIC", DnsScope: "INSTANCE", RecordManager: "CLOUD_SQL_AUTOMATION"}}
	}
	return answer
}

// ParseEnd returns the end of a certificate whose lifetime the request may shorten, in seconds such as "1800s".
func ParseEnd(duration string, now time.Time) (time.Time, error) {
	if duration == "" {
		return now.Add(Lifetime), nil
	}
	seconds, err := strconv.ParseFloat(strings.TrimSuffix(duration, "s"), 64)
	if err != nil || !strings.HasSuffix(duration, "s") || !(seconds > 0) || seconds > Lifetime.Seconds() {
		return time.Time{}, api.LegacyInvalid("Invalid request: Invalid value for validDuration: %s: use seconds, at most %.0fs.",
			api.Printable(duration), Lifetime.Seconds())
	}
	return now.Add(time.Duration(seconds * float64(time.Second))), nil
}
