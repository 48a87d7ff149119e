package database_test

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/database"
	"github.com/strata-platform/strata/internal/pulumitest"
)

// A database for the application shop of team web. Its pods read the Secret orders.
func Example() {
	pulumitest.Print(orders)
	// Output:
	// connection: acme-dev:europe-west1:strata
	// database: web_orders
	// host: 203.0.113.8
	// secret: orders
}

func orders(ctx *pulumi.Context) error {
	made, err := database.NewDatabase(ctx, "orders", &database.DatabaseArgs{
		Name:      pulumi.String("web_orders"),
		Instance:  pulumi.String("strata"),
		Namespace: pulumi.String("team-web"),
		Labels:    pulumi.StringMap{"app": pulumi.String("shop")},
	})
	if err != nil {
		return err
	}
	ctx.Export("database", made.Name)
	ctx.Export("secret", made.Secret)
	ctx.Export("connection", made.Connection)
	ctx.Export("host", made.Host)
	return nil
}
