package identity_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/identity"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/local/cloudtest"
	"github.com/strata-platform/strata/test/long"
)

func TestMain(m *testing.M) { cloudtest.Main(m) }

func credentialsOf(t *testing.T, r layers.Runner, l layers.Layer) any {
	t.Helper()
	outputs, err := r.Outputs(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if !outputs["credentials"].Secret {
		t.Error("the credentials are not a secret")
	}
	return outputs["credentials"].Value
}

func TestTheExampleRotatesItsKeyAndIsDestroyed(t *testing.T) {
	long.Test(t)
	cloud := cloudtest.Start(t)
	r, before, after := cloud.Runner(t, cloud.Owner), cloudtest.Program(reportingJob("2030")), cloudtest.Program(reportingJob("2031"))
	cloudtest.Up(t, r, before)
	key := credentialsOf(t, r, before)
	cloudtest.Unchanged(t, r, before)
	cloudtest.Changes(t, r, after, map[string]int{"replace": 1})
	if rotated := credentialsOf(t, r, after); rotated == key || rotated == "" {
		t.Error("the key is the same after its rotation, or gone")
	}
	if _, err := r.Destroy(t.Context(), after, nil); err != nil {
		t.Error(err)
	}
}

func TestARenamedComponentWithAnAliasKeepsItsAccount(t *testing.T) {
	cloud := cloudtest.Start(t)
	named := func(name string, opts ...pulumi.ResourceOption) layers.Layer {
		return cloudtest.Program(func(ctx *pulumi.Context) error {
			_, err := identity.NewIdentity(ctx, name, &identity.IdentityArgs{
				AccountID: pulumi.String("team-web"), Project: pulumi.String(cloudtest.Project), Roles: []string{"roles/viewer"}, Key: true,
			}, opts...)
			return err
		})
	}
	r := cloud.Runner(t, cloud.Owner)
	cloudtest.Up(t, r, named("old"))
	cloudtest.Unchanged(t, r, named("new", pulumi.Aliases([]pulumi.Alias{{Name: pulumi.String("old")}})))
}

func TestAnIdentityOfTheFormerTypeKeepsItsAccount(t *testing.T) {
	cloud := cloudtest.Start(t)
	r, l := cloud.Runner(t, cloud.Owner), cloudtest.Program(reportingJob("2030"))
	cloudtest.Up(t, r, l)
	cloudtest.Replace(t, r, l, "::strata:index:", "::strata:components:")
	cloudtest.Unchanged(t, r, l)
}
