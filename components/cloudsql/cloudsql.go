// Package cloudsql creates the Cloud SQL instance that the teams of a platform share.
//
//	instance, err := cloudsql.NewInstance(ctx, "strata", &cloudsql.InstanceArgs{
//		Name: pulumi.String("strata"), Project: pulumi.String("acme-dev"), Region: pulumi.String("europe-west1"),
//	})
//
// Databases and users usually belong to the teams' own Programs. NewInstance can also create databases and users of the
// platform itself. They share the instance's life: while the instance is protected, they are protected too, and deleting
// the instance deletes them. So a refused deletion of the instance leaves all data in place.
package cloudsql

import (
	"fmt"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/sql"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/component"
	"github.com/strata-platform/strata/components/internal/inputs"
)

// Type is the component's type token.
const Type = "strata:index:CloudSQL"

const (
	// DefaultVersion is the database engine when InstanceArgs.Version is empty.
	DefaultVersion = "MYSQL_8_0"
	// DefaultTier is the machine type when InstanceArgs.Tier is nil.
	DefaultTier = "db-custom-1-3840"
	// DefaultRetention is the number of daily backups that Cloud SQL keeps, and the number of days of point-in-time
	// recovery, when Backups sets neither. Seven days is the longest point-in-time recovery of Cloud SQL Enterprise.
	DefaultRetention = 7
)

// InstanceArgs describes an instance. NewInstance checks plain values before it creates a resource, Google Cloud checks
// computed ones.
type InstanceArgs struct {
	// Name is the instance's name in the project. Required. Google reserves the name of a deleted instance for a week.
	Name pulumi.StringInput `pulumi:"name"`
	// Project is the Google Cloud project of the instance. Required.
	Project pulumi.StringInput `pulumi:"project"`
	// Region is the region of the instance. Required.
	Region pulumi.StringInput `pulumi:"region"`
	// Version is the database engine, such as MYSQL_8_0 or POSTGRES_16; empty means DefaultVersion. Cloud SQL cannot
	// downgrade it. It is a plain value, because the settings of recovery and of users differ between the engines.
	Version string `pulumi:"version,optional"`
	// Tier is the machine type; nil means DefaultTier.
	Tier pulumi.StringInput `pulumi:"tier,optional"`
	// HighAvailability adds a standby machine in another zone of the region. The standby takes over automatically.
	// Nil means false.
	HighAvailability pulumi.BoolInput `pulumi:"highAvailability,optional"`

	// Backups configures backups and point-in-time recovery; nil means daily backups and point-in-time recovery, both for
	// DefaultRetention days.
	Backups *Backups `pulumi:"backups,optional"`
	// DeletionProtection makes the provider, the API and the engine refuse to delete the instance. It also makes the
	// engine refuse to delete Databases and Users. Nil means true. It is a plain value, because the engine's
	// protection is a resource option.
	DeletionProtection *bool `pulumi:"deletionProtection,optional"`

	// PrivateNetwork is the self link of the only VPC network that reaches the instance; the network must have private
	// services access. Nil gives the instance a public address without any authorised network, which only the Cloud SQL
	// Auth Proxy can use. A private instance cannot become public again.
	PrivateNetwork pulumi.StringInput `pulumi:"privateNetwork,optional"`
	// RequireTLS refuses unencrypted connections; nil means false. Connections of the Auth Proxy are always encrypted.
	RequireTLS pulumi.BoolInput `pulumi:"requireTls,optional"`

	// Databases are databases that NewInstance creates on the instance. Their names must be unique.
	Databases []Database `pulumi:"databases,optional"`
	// Users are users that NewInstance creates on the instance. Their names must be unique.
	Users []User `pulumi:"users,optional"`
}

// Backups configures backups and point-in-time recovery of an instance. Disabled and NoPointInTimeRecovery are plain
// values, because they decide which other settings exist.
type Backups struct {
	// Disabled turns backups off. It excludes all other fields.
	Disabled bool `pulumi:"disabled,optional"`
	// StartTime is the start of the four-hour window, in UTC, of the daily backup, such as 03:00; nil lets Google Cloud
	// choose.
	StartTime pulumi.StringInput `pulumi:"startTime,optional"`
	// Retained is the number of daily backups to keep, 1 to 365; nil means DefaultRetention.
	Retained pulumi.IntInput `pulumi:"retained,optional"`
	// NoPointInTimeRecovery keeps no transaction logs, so that only the state of a backup can be restored.
	NoPointInTimeRecovery bool `pulumi:"noPointInTimeRecovery,optional"`
	// LogDays is the number of days to keep transaction logs, 1 to 7; nil means DefaultRetention.
	LogDays pulumi.IntInput `pulumi:"logDays,optional"`
}

// Database is a database on the instance.
type Database struct {
	// Name is the database's name. Required. It is a plain value, because it names the resource.
	Name string `pulumi:"name"`
	// Charset is the engine's name of the character set; nil means the engine's default.
	Charset pulumi.StringInput `pulumi:"charset,optional"`
	// Collation is the engine's name of the collation; nil means the engine's default.
	Collation pulumi.StringInput `pulumi:"collation,optional"`
}

// User is a database user of the instance. It may use all databases of the instance.
type User struct {
	// Name is the user's name. Required. It is a plain value, because it names the resource.
	Name string `pulumi:"name"`
	// Host is the host that the user connects from, for MySQL only; nil means any host.
	Host pulumi.StringInput `pulumi:"host,optional"`
	// Password is the user's password. Pulumi keeps it as a secret. Required.
	Password pulumi.StringInput `pulumi:"password"`
}

// Instance is a Cloud SQL instance.
type Instance struct {
	pulumi.ResourceState

	// Name is the instance's name, known once the instance exists.
	Name pulumi.StringOutput `pulumi:"name"`
	// ConnectionName is project:region:name, the form that the Auth Proxy takes.
	ConnectionName pulumi.StringOutput `pulumi:"connectionName"`
	// Address is the instance's first IP address.
	Address pulumi.StringOutput `pulumi:"address"`
}

// NewInstance creates the instance, its databases and its users.
func NewInstance(ctx *pulumi.Context, name string, args *InstanceArgs, opts ...pulumi.ResourceOption) (*Instance, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("create Cloud SQL instance %s: %w", name, err)
	}
	instance := &Instance{}
	properties := pulumi.Map{
		"name": args.Name, "project": args.Project, "region": args.Region,
		"deletionProtection": pulumi.Bool(args.protected()),
	}
	if err := component.Register(ctx, Type, name, properties, instance, opts...); err != nil {
		return nil, fmt.Errorf("create Cloud SQL instance %s: %w", name, err)
	}
	resource, err := sql.NewDatabaseInstance(ctx, name+"-instance", &sql.DatabaseInstanceArgs{
		Name:               inputs.Optional(args.Name),
		Project:            inputs.Optional(args.Project),
		Region:             inputs.Optional(args.Region),
		DatabaseVersion:    pulumi.String(args.version()),
		DeletionProtection: pulumi.Bool(args.protected()),
		Settings:           args.settings(),
	}, pulumi.Parent(instance), pulumi.Protect(args.protected()))
	if err != nil {
		return nil, fmt.Errorf("create Cloud SQL instance %s: %w", name, err)
	}
	if err := args.populate(ctx, name, instance, resource); err != nil {
		return nil, fmt.Errorf("create Cloud SQL instance %s: %w", name, err)
	}
	instance.Name = resource.Name
	instance.ConnectionName = resource.ConnectionName
	instance.Address = resource.FirstIpAddress
	return instance, ctx.RegisterResourceOutputs(instance, pulumi.Map{
		"name": instance.Name, "connectionName": instance.ConnectionName, "address": instance.Address,
	})
}

// populate creates the databases and users of the instance.
func (a *InstanceArgs) populate(ctx *pulumi.Context, name string, parent pulumi.Resource, instance *sql.DatabaseInstance) error {
	opts := []pulumi.ResourceOption{pulumi.Parent(parent), pulumi.Protect(a.protected()), pulumi.DeletedWith(instance)}
	for _, database := range a.Databases {
		_, err := sql.NewDatabase(ctx, name+"-database-"+database.Name, &sql.DatabaseArgs{
			Name: pulumi.String(database.Name), Instance: instance.Name, Project: inputs.Optional(a.Project),
			Charset: inputs.Optional(database.Charset), Collation: inputs.Optional(database.Collation),
		}, opts...)
		if err != nil {
			return err
		}
	}
	for _, user := range a.Users {
		_, err := sql.NewUser(ctx, name+"-user-"+user.Name, &sql.UserArgs{
			Name: pulumi.String(user.Name), Host: inputs.Optional(user.Host), Instance: instance.Name, Project: inputs.Optional(a.Project),
			Password: pulumi.ToSecret(user.Password).(pulumi.StringOutput).ToStringPtrOutput(),
		}, opts...)
		if err != nil {
			return err
		}
	}
	return nil
}
