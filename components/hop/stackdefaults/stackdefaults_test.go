package stackdefaults_test

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop/stackdefaults"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/pulumitest"
)

// TestStacksAreFilledInWithTheWholeContext checks the objects of the policy. The tests of sync/policies evaluate it.
func TestStacksAreFilledInWithTheWholeContext(t *testing.T) {
	engine := &pulumitest.Engine{}
	err := engine.Run("proj", "dev", func(ctx *pulumi.Context) error {
		cluster, err := kubernetes.NewProvider(ctx, "cluster", nil)
		if err != nil {
			return err
		}
		_, err = stackdefaults.New(ctx, "defaults", pulumi.Provider(cluster))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	provider := engine.Get(t, "pulumi:providers:kubernetes", "cluster")
	const kind = "kubernetes:admissionregistration.k8s.io/v1:MutatingAdmissionPolicy"
	policy, binding := engine.Get(t, kind, "defaults"), engine.Get(t, kind+"Binding", "defaults-binding")
	for _, made := range []pulumitest.Resource{policy, binding} {
		if !strings.HasPrefix(made.Provider, provider.URN) {
			t.Errorf("%s is made by provider %q", made.URN, made.Provider)
		}
		if name, _ := pulumitest.Plain(t, made.Inputs, "metadata.name"); name != stackdefaults.Name {
			t.Errorf("%s is named %v", made.URN, name)
		}
	}
	if name, _ := pulumitest.Plain(t, binding.Inputs, "spec.policyName"); name != stackdefaults.Name {
		t.Errorf("the binding is of %v", name)
	}
	expression, _ := pulumitest.Plain(t, policy.Inputs, "spec.mutations[0].jsonPatch.expression")
	for _, key := range append(handoff.SecretKeys(), handoff.SettingKeys()...) {
		if !strings.Contains(expression.(string), "'"+key+"'") {
			t.Errorf("%s of the context is missing in %s", key, expression)
		}
	}
}
