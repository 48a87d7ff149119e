package cloudsql

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/sql"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/inputs"
)

// Prefixes of the names of versions.
const (
	mysql    = "MYSQL_"
	postgres = "POSTGRES_"
)

const (
	// maxRetained is the maximum number of backups that Cloud SQL keeps.
	maxRetained = 365
	// maxLogDays is the maximum of Cloud SQL Enterprise.
	maxLogDays = 7
)

var startTime = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)

func (a *InstanceArgs) protected() bool { return a.DeletionProtection == nil || *a.DeletionProtection }

func (a *InstanceArgs) version() string { return cmp.Or(a.Version, DefaultVersion) }

func (a *InstanceArgs) settings() *sql.DatabaseInstanceSettingsArgs {
	network := &sql.DatabaseInstanceSettingsIpConfigurationArgs{
		Ipv4Enabled: pulumi.Bool(inputs.Missing(a.PrivateNetwork)), PrivateNetwork: inputs.Optional(a.PrivateNetwork),
	}
	if a.RequireTLS != nil {
		network.SslMode = a.RequireTLS.ToBoolOutput().ApplyT(sslMode).(pulumi.StringPtrOutput)
	}
	high := cmp.Or[pulumi.BoolInput](a.HighAvailability, pulumi.Bool(false))
	return &sql.DatabaseInstanceSettingsArgs{
		Tier: inputs.Or(a.Tier, pulumi.String(DefaultTier)),
		// The provider's own flag does not stop a person at the console. This one does.
		DeletionProtectionEnabled: pulumi.Bool(a.protected()),
		AvailabilityType:          high.ToBoolOutput().ApplyT(availability).(pulumi.StringOutput).ToStringPtrOutput(),
		DiskAutoresize:            pulumi.Bool(true),
		BackupConfiguration:       a.backups(),
		IpConfiguration:           network,
	}
}

// sslMode returns the API's mode, or nil for the API's default.
func sslMode(required bool) *string {
	if !required {
		return nil
	}
	mode := "ENCRYPTED_ONLY"
	return &mode
}

// availability returns the API's name for one machine, or for one with a standby.
func availability(high bool) string {
	if high {
		return "REGIONAL"
	}
	return "ZONAL"
}

// backups configures point-in-time recovery in the engine's own way: by the binary log for MySQL, by the write-ahead log
// for PostgreSQL.
func (a *InstanceArgs) backups() *sql.DatabaseInstanceSettingsBackupConfigurationArgs {
	wanted := Backups{}
	if a.Backups != nil {
		wanted = *a.Backups
	}
	if wanted.Disabled {
		return &sql.DatabaseInstanceSettingsBackupConfigurationArgs{Enabled: pulumi.Bool(false)}
	}
	args := &sql.DatabaseInstanceSettingsBackupConfigurationArgs{
		Enabled:   pulumi.Bool(true),
		StartTime: inputs.Optional(wanted.StartTime),
		BackupRetentionSettings: &sql.DatabaseInstanceSettingsBackupConfigurationBackupRetentionSettingsArgs{
			RetainedBackups: cmp.Or[pulumi.IntInput](wanted.Retained, pulumi.Int(DefaultRetention)),
			RetentionUnit:   pulumi.String("COUNT"),
		},
	}
	logs := pulumi.Bool(!wanted.NoPointInTimeRecovery)
	if strings.HasPrefix(a.version(), mysql) {
		args.BinaryLogEnabled = logs
	} else {
		args.PointInTimeRecoveryEnabled = logs
	}
	if logs {
		args.TransactionLogRetentionDays = inputs.OptionalInt(cmp.Or[pulumi.IntInput](wanted.LogDays, pulumi.Int(DefaultRetention)))
	}
	return args
}

func (a *InstanceArgs) check() error {
	var problems []string
	refuse := func(broken bool, format string, args ...any) {
		if broken {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	refuse(inputs.Missing(a.Name), "name must be given")
	refuse(inputs.Missing(a.Project), "project must be given")
	refuse(inputs.Missing(a.Region), "region must be given")
	refuse(!strings.HasPrefix(a.version(), mysql) && !strings.HasPrefix(a.version(), postgres),
		"version %q is not one of MySQL or PostgreSQL, such as %s", a.version(), DefaultVersion)
	problems = append(problems, a.backupProblems()...)
	databases, users := map[string]bool{}, map[string]bool{}
	for _, database := range a.Databases {
		refuse(database.Name == "", "a database has no name")
		refuse(databases[database.Name], "database %s is given twice", database.Name)
		databases[database.Name] = true
	}
	for _, user := range a.Users {
		refuse(user.Name == "", "a user has no name")
		refuse(inputs.Missing(user.Password), "user %s has no password", user.Name)
		refuse(users[user.Name], "user %s is given twice", user.Name)
		refuse(!inputs.Missing(user.Host) && !strings.HasPrefix(a.version(), mysql), "user %s has a Host, which only MySQL supports", user.Name)
		users[user.Name] = true
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

func (a *InstanceArgs) backupProblems() []string {
	b := a.Backups
	if b == nil {
		return nil
	}
	var problems []string
	refuse := func(broken bool, format string, args ...any) {
		if broken {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	high, _ := a.HighAvailability.(pulumi.Bool)
	refuse(b.Disabled && b.hasDetails(), "backups are disabled, but another field of Backups is set: remove one of the two")
	refuse(b.Disabled && bool(high), "high availability needs backups, which are disabled")
	refuse(b.NoPointInTimeRecovery && b.LogDays != nil, "LogDays is given, but NoPointInTimeRecovery keeps no logs")
	refuse(b.NoPointInTimeRecovery && bool(high), "high availability needs the logs of point-in-time recovery, which is disabled")
	start := inputs.Text(b.StartTime)
	refuse(start != "" && !startTime.MatchString(start), "start time %q of the backups is not of the form 03:00", start)
	refuse(outside(b.Retained, maxRetained), "the number of retained backups must be between 1 and %d", maxRetained)
	refuse(outside(b.LogDays, maxLogDays), "the number of days of logs must be between 1 and %d", maxLogDays)
	return problems
}

// hasDetails reports whether a field other than Disabled is set.
func (b Backups) hasDetails() bool {
	return !inputs.Missing(b.StartTime) || b.Retained != nil || b.NoPointInTimeRecovery || b.LogDays != nil
}

// outside reports whether a plain number is given and not between 1 and most.
func outside(number pulumi.IntInput, most int) bool {
	value, plain := inputs.Number(number)
	return number != nil && plain && (value < 1 || value > most)
}
