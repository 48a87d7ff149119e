package identity_test

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/identity"
	"github.com/strata-platform/strata/internal/pulumitest"
)

// An account for a job outside any cluster, with a key. A new value of its keeper replaces the key.
func Example() {
	pulumitest.Print(reportingJob("2030"))
	// Output:
	// credentials: [secret]
	// email: nightly-reports@strata-local.iam.gserviceaccount.com
}

func reportingJob(year string) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		account, err := identity.NewIdentity(ctx, "reports", &identity.IdentityArgs{
			AccountID:  pulumi.String("nightly-reports"),
			Project:    pulumi.String("strata-local"),
			Roles:      []string{"roles/cloudsql.client", "roles/storage.objectViewer"},
			Key:        true,
			KeyKeepers: pulumi.StringMap{"year": pulumi.String(year)},
		})
		if err != nil {
			return err
		}
		ctx.Export("email", account.Email)
		ctx.Export("credentials", account.Credentials)
		return nil
	}
}
