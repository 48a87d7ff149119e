package serverproxy

import (
	"context"
	"strconv"
	"strings"
	"time"

	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/sql/settings"
)

// ConnectSettings returns the properties of an instance that a connector needs before it connects. Source of the fields:
// cloud.google.com/go/cloudsqlconn, internal/cloudsql/refresh.go.
func (i Instance) ConnectSettings(ctx context.Context, in *sqladmin.DatabaseInstance) *sqladmin.ConnectSettings {
	answer := &sqladmin.ConnectSettings{
		Kind:            "sql#connectSettings",
		BackendType:     in.BackendType,
		ConnectionName:  in.ConnectionName,
		DatabaseVersion: in.DatabaseVersion,
		IpAddresses:     addresses(ctx, in.IpAddresses),
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

// addressKey is the key of the function of WithAddress.
type addressKey struct{}

// WithAddress returns the context of a call from a client that reaches servers at other addresses: address returns such
// an address for a server's own.
func WithAddress(ctx context.Context, address func(server string) string) context.Context {
	return context.WithValue(ctx, addressKey{}, address)
}

// addresses returns the addresses of an instance for the client of a call.
func addresses(ctx context.Context, own []*sqladmin.IpMapping) []*sqladmin.IpMapping {
	address, ok := ctx.Value(addressKey{}).(func(string) string)
	if !ok {
		return own
	}
	var mapped []*sqladmin.IpMapping
	for _, one := range own {
		mapped = append(mapped, &sqladmin.IpMapping{Type: one.Type, IpAddress: address(one.IpAddress)})
	}
	return mapped
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
