// Package cloudsql makes the Cloud SQL instance that the teams of a platform share.
//
//	instance, err := cloudsql.New(ctx, "strata", &cloudsql.Args{
//		Name: "strata", Project: pulumi.String("acme-dev"), Region: pulumi.String("europe-west1"),
//	})
//
// Databases and users on it belong to the teams' own Programs.
package cloudsql

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/sql"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Type is the component's type token.
const Type = "strata:components:CloudSQL"

const (
	// DefaultVersion is the engine when Args name none.
	DefaultVersion = "MYSQL_8_0"
	// DefaultTier is the machine when Args name none.
	DefaultTier = "db-custom-1-3840"
)

// Args describe an instance.
type Args struct {
	// Name is the instance's name in the project. Required; Google keeps a deleted instance's name for a week.
	Name string
	// Project holds the instance. Required.
	Project pulumi.StringInput
	// Region is where the instance runs. Required.
	Region pulumi.StringInput
	// Version is the database engine, such as MYSQL_8_0; empty means DefaultVersion. It cannot be lowered later.
	Version string
	// Tier is the machine; empty means DefaultTier.
	Tier string
	// DeletionProtection makes the provider and the API refuse to delete the instance; nil means true.
	DeletionProtection *bool
	// PrivateNetwork is the self link of the VPC network that alone reaches the instance. Nil gives the instance a
	// public address without any authorised network, which only the Cloud SQL Auth Proxy can use.
	PrivateNetwork pulumi.StringInput
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

// New makes the instance.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Instance, error) {
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("make Cloud SQL instance %s: %w", name, err)
	}
	protected := args.DeletionProtection == nil || *args.DeletionProtection
	instance := &Instance{}
	inputs := pulumi.Map{
		"name": pulumi.String(args.Name), "project": args.Project, "region": args.Region,
		"deletionProtection": pulumi.Bool(protected),
	}
	if err := ctx.RegisterComponentResourceV2(Type, name, inputs, instance, opts...); err != nil {
		return nil, fmt.Errorf("make Cloud SQL instance %s: %w", name, err)
	}
	network := &sql.DatabaseInstanceSettingsIpConfigurationArgs{Ipv4Enabled: pulumi.Bool(args.PrivateNetwork == nil)}
	if args.PrivateNetwork != nil {
		network.PrivateNetwork = args.PrivateNetwork.ToStringOutput().ToStringPtrOutput()
	}
	resource, err := sql.NewDatabaseInstance(ctx, name+"-instance", &sql.DatabaseInstanceArgs{
		Name:               pulumi.String(args.Name),
		Project:            args.Project.ToStringOutput().ToStringPtrOutput(),
		Region:             args.Region.ToStringOutput().ToStringPtrOutput(),
		DatabaseVersion:    pulumi.String(or(args.Version, DefaultVersion)),
		DeletionProtection: pulumi.Bool(protected),
		Settings: &sql.DatabaseInstanceSettingsArgs{
			Tier: pulumi.String(or(args.Tier, DefaultTier)),
			// The provider's own flag does not stop a person with a console; this one does.
			DeletionProtectionEnabled: pulumi.Bool(protected),
			DiskAutoresize:            pulumi.Bool(true),
			BackupConfiguration: &sql.DatabaseInstanceSettingsBackupConfigurationArgs{
				Enabled:          pulumi.Bool(true),
				BinaryLogEnabled: pulumi.Bool(true),
			},
			IpConfiguration: network,
		},
	}, pulumi.Parent(instance))
	if err != nil {
		return nil, fmt.Errorf("make Cloud SQL instance %s: %w", name, err)
	}
	instance.Name = resource.Name
	instance.ConnectionName = resource.ConnectionName
	instance.Address = resource.FirstIpAddress
	return instance, ctx.RegisterResourceOutputs(instance, pulumi.Map{
		"name": instance.Name, "connectionName": instance.ConnectionName, "address": instance.Address,
	})
}

func (a *Args) check() error {
	var missing []string
	if a.Name == "" {
		missing = append(missing, "name")
	}
	if a.Project == nil {
		missing = append(missing, "project")
	}
	if a.Region == nil {
		missing = append(missing, "region")
	}
	if len(missing) > 0 {
		return errors.New(strings.Join(missing, ", ") + " must be given")
	}
	if version := or(a.Version, DefaultVersion); !strings.HasPrefix(version, "MYSQL_") {
		return fmt.Errorf("version %q is not a version of MySQL, such as %s: backups are set up for MySQL only", version, DefaultVersion)
	}
	return nil
}

func or(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}
