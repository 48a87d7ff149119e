package handoff_test

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/pulumitest"
)

// The context of team web. Layer 2 stores the first part in a Secret and the second in a ConfigMap.
func ExampleTenant() {
	pulumitest.Print(func(ctx *pulumi.Context) error {
		context := handoff.Tenant{
			BackendURL: pulumi.String("gs://acme-dev-strata-web"), Passphrase: pulumi.String("from a secret"), GoogleCredentials: pulumi.String(""),
			Project: pulumi.String("acme-dev"), Region: pulumi.String("europe-west1"), Instance: pulumi.String("strata"),
		}
		ctx.Export("environment", context.SecretData())
		ctx.Export("configuration", context.ConfigData())
		return nil
	})
	// Output:
	// configuration: {"handoffVersion":"1","instance":"strata","project":"acme-dev","region":"europe-west1"}
	// environment: [secret]
}
