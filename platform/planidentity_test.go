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
	secret := func(value string) resource.PropertyValue { return resource.MakeSecret(resource.NewProperty(value)) }
	for name, c := range map[string]struct {
		target string
		output resource.PropertyValue
		want   bool
	}{
		"the embedded operator":       {"local", secret("canary-key-of-plans"), true},
		"upstream's operator":         {"gke", secret("canary-key-of-plans"), false},
		"a layer 1 without keys":      {"local", secret(""), false},
		"a layer 1 of an old version": {"local", resource.NewNullProperty(), false},
	} {
		engine := below(t, func(config *platform.Config) { config.Target = c.target })
		engine.Read["pulumi:pulumi:StackReference"]["outputs"].ObjectValue()[handoff.OutputPlans] = c.output
		if err := run(engine); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := slices.ContainsFunc(engine.OfType(secretType), func(r pulumitest.Resource) bool { return r.Name == "plan-identity" }); got != c.want {
			t.Errorf("%s: the operator has an identity for plans: %v", name, got)
		}
		if !c.want {
			continue
		}
		made := engine.Get(t, secretType, "plan-identity")
		expect(t, made, map[string]any{
			"metadata.name": "strata-plan", "metadata.namespace": platform.OperatorNamespace,
			"stringData.GOOGLE_CREDENTIALS": "canary-key-of-plans", "stringData.GOOGLE_PROJECT": "acme",
		})
		if _, hidden := pulumitest.Plain(t, made.Inputs, "stringData.GOOGLE_CREDENTIALS"); !hidden {
			t.Errorf("%s: the state of layer 2 has the key in plain text", name)
		}
	}
}
