package platform_test

import (
	"slices"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/pulumitest"
	"github.com/strata-platform/strata/platform"
)

func TestOnlyTheEmbeddedOperatorGetsTheIdentityOfPlans(t *testing.T) {
	plain := resource.NewProperty[string]
	for name, c := range map[string]struct {
		target   string
		account  resource.PropertyValue
		audience resource.PropertyValue
		want     bool
	}{
		"the embedded operator":              {"local", plain("strata-plan@acme"), plain(audience), true},
		"upstream's operator":                {"gke", plain("strata-plan@acme"), plain(audience), false},
		"a layer 1 of an old version":        {"gke", resource.NewNullProperty(), resource.NewNullProperty(), false},
		"a layer 1 without such an identity": {"local", resource.NewNullProperty(), plain(audience), false},
	} {
		engine := below(t, func(config *platform.Config) { config.Target = c.target })
		outputs := engine.Read["pulumi:pulumi:StackReference"]["outputs"].ObjectValue()
		outputs[handoff.OutputPlans], outputs[handoff.OutputAudience] = c.account, c.audience
		if err := run(engine); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := slices.ContainsFunc(engine.OfType(secretType), func(r pulumitest.Resource) bool { return r.Name == "plan-identity" }); got != c.want {
			t.Errorf("%s: the operator has an identity for plans: %v", name, got)
		}
		if !c.want {
			continue
		}
		expect(t, engine.Get(t, secretType, "plan-identity"), map[string]any{
			"metadata.name": "strata-plan", "metadata.namespace": platform.OperatorNamespace,
			"stringData.GOOGLE_ACCOUNT": "strata-plan@acme", "stringData.GOOGLE_AUDIENCE": audience, "stringData.GOOGLE_PROJECT": "acme",
			// A key of an earlier version does not stay.
			"stringData.GOOGLE_CREDENTIALS": "",
		})
	}
}
