// Package database creates a MySQL database on an existing Cloud SQL instance, a user with a random password, and a
// Kubernetes Secret with both for an application.
//
//	orders, err := database.NewDatabase(ctx, "orders", &database.DatabaseArgs{
//		Name: pulumi.String("web_orders"), Instance: pulumi.String("strata"),
//	})
//	// A pod reads username, password, database, connection, host and port from the Secret orders.Secret.
//
// A Program creates it as a resource of type strata:index:Database.
package database

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/sql"
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi-random/sdk/v4/go/random"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/component"
	"github.com/strata-platform/strata/components/internal/inputs"
)

// Type is the component's type token.
const Type = "strata:index:Database"

const (
	// passwordLength is the length of the random password, which consists of letters and digits: about 190 bits.
	passwordLength = 32
	// port is the port of MySQL.
	port = "3306"
	// anyHost lets the user connect from every host. The network and the Cloud SQL Auth Proxy restrict who can connect.
	anyHost = "%"
)

// userName matches the names that MySQL accepts for a user, without the characters that need quoting.
var userName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// DatabaseArgs describes a database. NewDatabase checks plain values before it creates a resource, Google Cloud and the API
// server check computed ones.
//
//nolint:revive // Pulumi users expect the arguments of NewDatabase under this name
type DatabaseArgs struct {
	// Name is the name of the database and of its user, 1 to 32 letters, digits, underscores and hyphens. Required. On an
	// instance that teams share, a team's names are the team's name, or begin with it and an underscore. A different name
	// means a different, empty database.
	Name pulumi.StringInput `pulumi:"name"`
	// Instance is the name of the Cloud SQL instance. Required. It must be a MySQL instance.
	Instance pulumi.StringInput `pulumi:"instance"`
	// Project is the Google Cloud project of the instance; nil means the project of the Google Cloud provider.
	Project pulumi.StringInput `pulumi:"project,optional"`
	// Charset is MySQL's name of the database's character set; nil means MySQL's default.
	Charset pulumi.StringInput `pulumi:"charset,optional"`
	// Collation is MySQL's name of the database's collation; nil means the default of the character set.
	Collation pulumi.StringInput `pulumi:"collation,optional"`
	// SecretName is the name of the Secret; nil means the resource's name.
	SecretName pulumi.StringInput `pulumi:"secretName,optional"`
	// Namespace is the namespace of the Secret; nil means the namespace of the Kubernetes provider. For a Stack this is
	// the Stack's namespace.
	Namespace pulumi.StringInput `pulumi:"namespace,optional"`
	// Labels are the labels of the Secret.
	Labels pulumi.StringMapInput `pulumi:"labels,optional"`
}

// Database is a database with its user and its Secret.
type Database struct {
	pulumi.ResourceState

	// Name is the name of the database, known once it exists.
	Name pulumi.StringOutput `pulumi:"name"`
	// Username is the name of the user, known once it exists.
	Username pulumi.StringOutput `pulumi:"username"`
	// Secret is the name of the Secret, known once it exists. Its keys are username, password, database, connection, host
	// and port.
	Secret pulumi.StringOutput `pulumi:"secret"`
	// Connection is the instance's name for the Cloud SQL Auth Proxy, PROJECT:REGION:INSTANCE.
	Connection pulumi.StringOutput `pulumi:"connection"`
	// Host is the address of the instance, for clients that connect without the proxy.
	Host pulumi.StringOutput `pulumi:"host"`
}

// NewDatabase creates the database, its user and its Secret. Pass the providers of Google Cloud and of the cluster in opts,
// or leave them out to use the default ones.
func NewDatabase(ctx *pulumi.Context, name string, args *DatabaseArgs, opts ...pulumi.ResourceOption) (*Database, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("create database %s: %w", name, err)
	}
	database := &Database{}
	properties := pulumi.Map{"name": args.Name, "instance": args.Instance}
	if err := component.Register(ctx, Type, name, properties, database, opts...); err != nil {
		return nil, fmt.Errorf("create database %s: %w", name, err)
	}
	if err := database.populate(ctx, name, args); err != nil {
		return nil, fmt.Errorf("create database %s: %w", name, err)
	}
	return database, ctx.RegisterResourceOutputs(database, pulumi.Map{
		"name": database.Name, "username": database.Username, "secret": database.Secret,
		"connection": database.Connection, "host": database.Host,
	})
}

// populate creates the children and sets the outputs. The Secret refers to the outputs of the database and of the user, so pods
// never see it before both exist.
func (d *Database) populate(ctx *pulumi.Context, name string, args *DatabaseArgs) error {
	made, err := sql.NewDatabase(ctx, name+"-database", &sql.DatabaseArgs{
		Name: inputs.Optional(args.Name), Instance: args.Instance, Project: inputs.Optional(args.Project),
		Charset: inputs.Optional(args.Charset), Collation: inputs.Optional(args.Collation),
	}, pulumi.Parent(d))
	if err != nil {
		return err
	}
	password, err := random.NewRandomPassword(ctx, name+"-password", &random.RandomPasswordArgs{
		Length: pulumi.Int(passwordLength), Special: pulumi.Bool(false),
	}, pulumi.Parent(d))
	if err != nil {
		return err
	}
	user, err := sql.NewUser(ctx, name+"-user", &sql.UserArgs{
		Name: inputs.Optional(args.Name), Instance: args.Instance, Project: inputs.Optional(args.Project),
		Host: pulumi.String(anyHost), Password: password.Result,
	}, pulumi.Parent(d))
	if err != nil {
		return err
	}
	server := sql.LookupDatabaseInstanceOutput(ctx, sql.LookupDatabaseInstanceOutputArgs{
		Name: args.Instance, Project: inputs.Optional(args.Project),
	}, pulumi.Parent(d))
	d.Name, d.Username, d.Connection, d.Host = made.Name, user.Name, server.ConnectionName(), server.FirstIpAddress()
	secret, err := corev1.NewSecret(ctx, name+"-secret", &corev1.SecretArgs{
		Metadata: &metav1.ObjectMetaArgs{
			Name:      inputs.Optional(inputs.Or(args.SecretName, pulumi.String(name))),
			Namespace: inputs.Optional(args.Namespace), Labels: inputs.OptionalMap(args.Labels),
			// A Secret has no dependents, so its deletion need not wait for the garbage collector.
			Annotations: pulumi.StringMap{"pulumi.com/deletionPropagationPolicy": pulumi.String("background")},
		},
		StringData: pulumi.ToSecret(pulumi.StringMap{
			"username": d.Username, "password": password.Result, "database": d.Name,
			"connection": d.Connection, "host": d.Host, "port": pulumi.String(port),
		}.ToStringMapOutput()).(pulumi.StringMapOutput),
	}, pulumi.Parent(d))
	if err != nil {
		return err
	}
	d.Secret = secret.Metadata.Name().Elem()
	return nil
}

func (a *DatabaseArgs) check() error {
	var problems []string
	if name := inputs.Text(a.Name); inputs.Missing(a.Name) || name != "" && !userName.MatchString(name) {
		problems = append(problems, fmt.Sprintf("name %q must be 1 to 32 letters, digits, underscores and hyphens", name))
	}
	if inputs.Missing(a.Instance) {
		problems = append(problems, "instance must be given")
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}
