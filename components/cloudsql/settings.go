package cloudsql

import (
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

// maxLogDays is the maximum of Cloud SQL Enterprise.
const maxLogDays = 7

var startTime = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)

func (a *Args) protected() bool { return a.DeletionProtection == nil || *a.DeletionProtection }

func (a *Args) version() string { return or(a.Version, DefaultVersion) }

func (a *Args) settings() *sql.DatabaseInstanceSettingsArgs {
	network := &sql.DatabaseInstanceSettingsIpConfigurationArgs{
		Ipv4Enabled: pulumi.Bool(a.PrivateNetwork == nil), PrivateNetwork: inputs.Optional(a.PrivateNetwork),
	}
	if a.RequireTLS {
		network.SslMode = pulumi.String("ENCRYPTED_ONLY")
	}
	availability := "ZONAL"
	if a.HighAvailability {
		availability = "REGIONAL"
	}
	return &sql.DatabaseInstanceSettingsArgs{
		Tier: pulumi.String(or(a.Tier, DefaultTier)),
		// The provider's own flag does not stop a person at the console. This one does.
		DeletionProtectionEnabled: pulumi.Bool(a.protected()),
		AvailabilityType:          pulumi.String(availability),
		DiskAutoresize:            pulumi.Bool(true),
		BackupConfiguration:       a.backups(),
		IpConfiguration:           network,
	}
}

// backups configures point-in-time recovery in the engine's own way: by the binary log for MySQL, by the write-ahead log
// for PostgreSQL.
func (a *Args) backups() *sql.DatabaseInstanceSettingsBackupConfigurationArgs {
	wanted := Backups{}
	if a.Backups != nil {
		wanted = *a.Backups
	}
	if wanted.Disabled {
		return &sql.DatabaseInstanceSettingsBackupConfigurationArgs{Enabled: pulumi.Bool(false)}
	}
	args := &sql.DatabaseInstanceSettingsBackupConfigurationArgs{
		Enabled:   pulumi.Bool(true),
		StartTime: inputs.NonEmpty(wanted.StartTime),
		BackupRetentionSettings: &sql.DatabaseInstanceSettingsBackupConfigurationBackupRetentionSettingsArgs{
			RetainedBackups: pulumi.Int(or(wanted.Retained, DefaultRetention)), RetentionUnit: pulumi.String("COUNT"),
		},
	}
	logs := pulumi.Bool(!wanted.NoPointInTimeRecovery)
	if strings.HasPrefix(a.version(), mysql) {
		args.BinaryLogEnabled = logs
	} else {
		args.PointInTimeRecoveryEnabled = logs
	}
	if logs {
		args.TransactionLogRetentionDays = pulumi.Int(or(wanted.LogDays, DefaultRetention))
	}
	return args
}

func (a *Args) check() error {
	var problems []string
	refuse := func(broken bool, format string, args ...any) {
		if broken {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	refuse(a.Name == "", "name must be given")
	refuse(a.Project == nil, "project must be given")
	refuse(a.Region == nil, "region must be given")
	refuse(!strings.HasPrefix(a.version(), mysql) && !strings.HasPrefix(a.version(), postgres),
		"version %q is none of MySQL or PostgreSQL, such as %s", a.version(), DefaultVersion)
	problems = append(problems, a.backupProblems()...)
	databases, users := map[string]bool{}, map[string]bool{}
	for _, database := range a.Databases {
		refuse(database.Name == "", "a database has no name")
		refuse(databases[database.Name], "database %s is given twice", database.Name)
		databases[database.Name] = true
	}
	for _, user := range a.Users {
		refuse(user.Name == "", "a user has no name")
		refuse(user.Password == nil, "user %s has no password", user.Name)
		refuse(users[user.Name], "user %s is given twice", user.Name)
		refuse(user.Host != "" && !strings.HasPrefix(a.version(), mysql), "user %s has a host, which is for MySQL only", user.Name)
		users[user.Name] = true
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

func (a *Args) backupProblems() []string {
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
	refuse(b.Disabled && *b != Backups{Disabled: true}, "backups are disabled and described: do one of the two")
	refuse(b.Disabled && a.HighAvailability, "backups are disabled, which high availability needs")
	refuse(b.NoPointInTimeRecovery && b.LogDays != 0, "days of logs are given although no logs are kept")
	refuse(b.NoPointInTimeRecovery && a.HighAvailability, "recovery of any moment is disabled, whose logs high availability needs")
	refuse(b.StartTime != "" && !startTime.MatchString(b.StartTime), "start time %q of the backups is not of the form 03:00", b.StartTime)
	refuse(b.Retained < 0 || b.Retained > 365, "%d retained backups are not between 1 and 365", b.Retained)
	refuse(b.LogDays < 0 || b.LogDays > maxLogDays, "%d days of logs are not between 1 and %d", b.LogDays, maxLogDays)
	return problems
}

func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}
