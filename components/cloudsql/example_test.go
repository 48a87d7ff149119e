package cloudsql_test

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/cloudsql"
	"github.com/strata-platform/strata/internal/pulumitest"
)

// An instance with a database and a user of the platform's own. It keeps backups for a month.
func Example() {
	pulumitest.Print(sharedInstance(true))
	// Output:
	// address: 203.0.113.8
}

func sharedInstance(protected bool) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		instance, err := cloudsql.NewInstance(ctx, "shared", &cloudsql.InstanceArgs{
			Name:               pulumi.String("shared"),
			Project:            pulumi.String("strata-local"),
			Region:             pulumi.String("europe-west1"),
			Backups:            &cloudsql.Backups{StartTime: pulumi.String("03:00"), Retained: pulumi.Int(30)},
			DeletionProtection: &protected,
			Databases:          []cloudsql.Database{{Name: "audit", Charset: pulumi.String("utf8mb4")}},
			Users:              []cloudsql.User{{Name: "auditor", Password: pulumi.String("from a secret of your configuration")}},
		})
		if err != nil {
			return err
		}
		ctx.Export("address", instance.Address)
		return nil
	}
}
