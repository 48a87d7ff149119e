package bootstrap_test

import (
	"encoding/base64"
	"regexp"
	"testing"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/serviceaccount"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/local/cloudtest"
	"github.com/strata-platform/strata/test/docstest"
	"github.com/strata-platform/strata/test/long"
)

// documentedRoles returns the roles that docs/platform-team.md requires for running this layer.
func documentedRoles(t *testing.T) []string {
	t.Helper()
	var roles []string
	page := docstest.Read(t, "docs/platform-team.md")
	for _, match := range regexp.MustCompile("(?m)^\\| `(roles/[a-zA-Z.]+)` \\|").FindAllStringSubmatch(page, -1) {
		roles = append(roles, match[1])
	}
	if len(roles) < 5 {
		t.Fatalf("the page names only the roles %v", roles)
	}
	return roles
}

// runnerWithRoles returns a runner whose account has exactly these roles on the project.
func runnerWithRoles(t *testing.T, cloud cloudtest.Cloud, roles []string) layers.Runner {
	t.Helper()
	owner := cloud.Runner(t, cloud.Owner)
	program := cloudtest.Program(func(ctx *pulumi.Context) error {
		account, err := serviceaccount.NewAccount(ctx, "engineer", &serviceaccount.AccountArgs{
			AccountId: pulumi.String("engineer"), Project: pulumi.String(cloudtest.Project),
		})
		if err != nil {
			return err
		}
		for _, role := range roles {
			_, err := projects.NewIAMMember(ctx, role, &projects.IAMMemberArgs{
				Project: pulumi.String(cloudtest.Project), Role: pulumi.String(role), Member: account.Member,
			})
			if err != nil {
				return err
			}
		}
		key, err := serviceaccount.NewKey(ctx, "engineer", &serviceaccount.KeyArgs{ServiceAccountId: account.Name})
		if err != nil {
			return err
		}
		ctx.Export("key", key.PrivateKey)
		return nil
	})
	cloudtest.Up(t, owner, program)
	outputs, err := owner.Outputs(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	code, _ := outputs["key"].Value.(string)
	credentials, err := base64.StdEncoding.DecodeString(code)
	if err != nil {
		t.Fatal(err)
	}
	return cloud.Runner(t, string(credentials))
}

func TestTheDocumentedRolesAreEnoughToMakeTheLayerAndToDestroyIt(t *testing.T) {
	long.Test(t)
	cloud := cloudtest.Start(t)
	engineer, layer := runnerWithRoles(t, cloud, documentedRoles(t)), emulatedLayer(t, nil)
	cloudtest.Up(t, engineer, layer)
	cloudtest.Unchanged(t, engineer, layer)
	if _, err := engineer.Destroy(t.Context(), layer, nil); err != nil {
		t.Error(err)
	}
}
