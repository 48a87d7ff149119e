// Package cloudsql makes the Cloud SQL instance that the teams of a platform share.
//
//	instance, err := cloudsql.New(ctx, "strata", &cloudsql.Args{
//		Name: "strata", Project: pulumi.String("acme-dev"), Region: pulumi.String("europe-west1"),
//	})
//
// Databases and users on it usually belong to the teams' own Programs; those of the platform itself can be made with the
// instance. They never go before it: while the instance is protected they are as well, and when it goes it takes them
// along, so that a deletion that is refused leaves all data where it is.
package cloudsql

import (
	"fmt"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/sql"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/inputs"
)

// Type is the component's type token.
const Type = "strata:components:CloudSQL"

const (
	// DefaultVersion is the engine when Args name none.
	DefaultVersion = "MYSQL_8_0"
	// DefaultTier is the machine when Args name none.
	DefaultTier = "db-custom-1-3840"
	// DefaultRetention is how many daily backups are kept, and for how many days the instance can be taken back to any
	// moment, when Args say nothing else. It is the longest time for the latter that Cloud SQL Enterprise offers.
	DefaultRetention = 7
)

// Args describe an instance.
type Args struct {
	// Name is the instance's name in the project. Required; Google keeps a deleted instance's name for a week.
	Name string
	// Project holds the instance. Required.
	Project pulumi.StringInput
	// Region is where the instance runs. Required.
	Region pulumi.StringInput
	// Version is the database engine, such as MYSQL_8_0 or POSTGRES_16; empty means DefaultVersion. It cannot be lowered
	// later.
	Version string
	// Tier is the machine; empty means DefaultTier.
	Tier string
	// HighAvailability keeps a second machine in another zone of the region, which takes over by itself.
	HighAvailability bool

	// Backups says what is kept for the case of a loss; nil means daily backups, and recovery of any moment, for
	// DefaultRetention days.
	Backups *Backups
	// DeletionProtection makes the provider, the API and the engine refuse to delete the instance, and the engine refuse to
	// delete Databases and Users; nil means true.
	DeletionProtection *bool

	// PrivateNetwork is the self link of the VPC network that alone reaches the instance; the network must have private
	// services access. Nil gives the instance a public address without any authorised network, which only the Cloud SQL
	// Auth Proxy can use. A private instance cannot be made public again.
	PrivateNetwork pulumi.StringInput
	// RequireTLS refuses connections that are not encrypted. Those of the Auth Proxy always are.
	RequireTLS bool

	// Databases are made with the instance. Their names must differ.
	Databases []Database
	// Users are made with the instance. Their names must differ.
	Users []User
}

// Backups says what an instance keeps for the case of a loss.
type Backups struct {
	// Disabled keeps nothing. It excludes all other fields.
	Disabled bool
	// StartTime is the beginning of the four hours in UTC in which the daily backup is made, such as 03:00; empty leaves it
	// to Google Cloud.
	StartTime string
	// Retained is the number of daily backups that are kept, 1 to 365; zero means DefaultRetention.
	Retained int
	// NoPointInTimeRecovery keeps no logs of changes, so that only the state of a backup can be had again.
	NoPointInTimeRecovery bool
	// LogDays is for how many days the logs are kept, 1 to 7; zero means DefaultRetention.
	LogDays int
}

// Database is a database on the instance.
type Database struct {
	// Name is the database's name. Required.
	Name string
	// Charset and Collation are the engine's own names; empty means the engine's defaults.
	Charset, Collation string
}

// User is a user of the instance, who may use all of its databases.
type User struct {
	// Name is the user's name. Required.
	Name string
	// Host is from where the user connects, for MySQL only; empty means from anywhere.
	Host string
	// Password is kept as a secret. Required.
	Password pulumi.StringInput
}

// Instance is a Cloud SQL instance.
type Instance struct {
	pulumi.ResourceState

	// Name is the instance's name, known once the instance exists.
	Name pulumi.StringOutput `pulumi:"name"`
	// ConnectionName is project:region:name, as the Auth Proxy wants it.
	ConnectionName pulumi.StringOutput `pulumi:"connectionName"`
	// Address is the instance's first IP address.
	Address pulumi.StringOutput `pulumi:"address"`
}

// New makes the instance, its databases and its users.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Instance, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("make Cloud SQL instance %s: %w", name, err)
	}
	instance := &Instance{}
	properties := pulumi.Map{
		"name": pulumi.String(args.Name), "project": args.Project, "region": args.Region,
		"deletionProtection": pulumi.Bool(args.protected()),
	}
	if err := ctx.RegisterComponentResourceV2(Type, name, properties, instance, opts...); err != nil {
		return nil, fmt.Errorf("make Cloud SQL instance %s: %w", name, err)
	}
	resource, err := sql.NewDatabaseInstance(ctx, name+"-instance", &sql.DatabaseInstanceArgs{
		Name:               pulumi.String(args.Name),
		Project:            args.Project.ToStringOutput().ToStringPtrOutput(),
		Region:             args.Region.ToStringOutput().ToStringPtrOutput(),
		DatabaseVersion:    pulumi.String(args.version()),
		DeletionProtection: pulumi.Bool(args.protected()),
		Settings:           args.settings(),
	}, pulumi.Parent(instance), pulumi.Protect(args.protected()))
	if err != nil {
		return nil, fmt.Errorf("make Cloud SQL instance %s: %w", name, err)
	}
	if err := args.populate(ctx, name, instance, resource); err != nil {
		return nil, fmt.Errorf("make Cloud SQL instance %s: %w", name, err)
	}
	instance.Name = resource.Name
	instance.ConnectionName = resource.ConnectionName
	instance.Address = resource.FirstIpAddress
	return instance, ctx.RegisterResourceOutputs(instance, pulumi.Map{
		"name": instance.Name, "connectionName": instance.ConnectionName, "address": instance.Address,
	})
}

// populate makes what is on the instance.
func (a *Args) populate(ctx *pulumi.Context, name string, parent pulumi.Resource, instance *sql.DatabaseInstance) error {
	opts := []pulumi.ResourceOption{pulumi.Parent(parent), pulumi.Protect(a.protected()), pulumi.DeletedWith(instance)}
	for _, database := range a.Databases {
		_, err := sql.NewDatabase(ctx, name+"-database-"+database.Name, &sql.DatabaseArgs{
			Name: pulumi.String(database.Name), Instance: instance.Name, Project: inputs.Optional(a.Project),
			Charset: inputs.NonEmpty(database.Charset), Collation: inputs.NonEmpty(database.Collation),
		}, opts...)
		if err != nil {
			return err
		}
	}
	for _, user := range a.Users {
		_, err := sql.NewUser(ctx, name+"-user-"+user.Name, &sql.UserArgs{
			Name: pulumi.String(user.Name), Host: inputs.NonEmpty(user.Host), Instance: instance.Name, Project: inputs.Optional(a.Project),
			Password: pulumi.ToSecret(user.Password).(pulumi.StringOutput).ToStringPtrOutput(),
		}, opts...)
		if err != nil {
			return err
		}
	}
	return nil
}
