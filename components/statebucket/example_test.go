package statebucket_test

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/statebucket"
	"github.com/strata-platform/strata/internal/pulumitest"
)

// The state of team web. Only the team's Google service account reads and writes it.
func Example() {
	pulumitest.Print(func(ctx *pulumi.Context) error {
		bucket, err := statebucket.NewBucket(ctx, "team-web-state", &statebucket.BucketArgs{
			Name:     pulumi.String("acme-dev-strata-web"),
			Project:  pulumi.String("acme-dev"),
			Location: pulumi.String("europe-west1"),
			Member:   pulumi.String("serviceAccount:team-web@acme-dev.iam.gserviceaccount.com"),
		})
		if err != nil {
			return err
		}
		ctx.Export("backend", bucket.URL)
		return nil
	})
	// Output:
	// backend: gs://acme-dev-strata-web
}
