package platform_test

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/components/hop/stackdefaults"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/pulumitest"
	"github.com/strata-platform/strata/platform"
)

const defaultsType = "kubernetes:admissionregistration.k8s.io/v1:" + stackdefaults.Kind

func TestStacksAreFilledInWhereTheClusterServesIt(t *testing.T) {
	for name, test := range map[string]struct {
		version string
		filled  bool
	}{
		"the first version":                     {"1.36.0", true},
		"a version of GKE":                      {"1.36.3-gke.100", true},
		"a later version":                       {"1.40.1-gke.1", true},
		"the next major version":                {"2.0.0", true},
		"the unknown version of an old layer 1": {"", true},
		"the last version without it":           {"1.35.9-gke.1", false},
		"an old version":                        {"1.9.7", false},
	} {
		t.Run(name, func(t *testing.T) {
			// The kind accepts images of at most 512 characters.
			image := "registry.example.com/" + strings.Repeat("a", 419) + "@sha256:" + strings.Repeat("0123456789abcdef", 4)
			engine := below(t, func(c *platform.Config) { c.Contact, c.WorkspaceImage = "#platform", image })
			below := handedOn("web", "api")
			outputs := below["outputs"].ObjectValue()
			if test.version != "" {
				outputs[handoff.OutputKubernetes] = resource.NewProperty(test.version)
			}
			engine.Read["pulumi:pulumi:StackReference"] = below
			if err := run(engine); err != nil {
				t.Fatal(err)
			}
			made := engine.OfType(defaultsType)
			spec, _ := pulumitest.Plain(t, engine.Get(t, "kubernetes:strata.dev/v1:TenantPolicy", "team-web-policy").Inputs, "spec")
			said := spec.(map[string]any)["unfilled"]
			if !test.filled {
				text, _ := said.(string)
				for _, want := range []string{
					"Kubernetes " + test.version + " of this cluster", "Kubernetes 1.36 does", "spec.stack, spec.serviceAccountName", "spec.envRefs.GOOGLE_CREDENTIALS",
					"spec.workspaceTemplate.spec.image (" + image + ")", "spec.workspaceTemplate.spec.resources.limits.memory", "spec.envRefs.PULUMI_CONFIG_PASSPHRASE", "spec.configRef.platform:instance",
				} {
					if !strings.Contains(text, want) {
						t.Errorf("the TenantPolicy does not say %q: %q", want, text)
					}
				}
				if len(made) > 0 || len(text) > 1024 {
					t.Errorf("%d policies, and a text of %d characters; the kind accepts 1024", len(made), len(text))
				}
				return
			}
			if len(made) != 1 || said != nil {
				t.Fatalf("%d policies, and the TenantPolicy says %v", len(made), said)
			}
			expect(t, made[0], map[string]any{"metadata.name": stackdefaults.Name, "spec.failurePolicy": "Fail"})
			binding := engine.Get(t, defaultsType+"Binding", "stack-defaults-binding")
			if !binding.DependsOn(made[0]) || !engine.Get(t, hop.Type, "team-web").DependsOn(binding) {
				t.Error("the hop does not wait for the policy and its binding")
			}
			if !made[0].DependsOn(engine.Get(t, "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition", "tenant-policies")) {
				t.Error("the policy does not wait for the kind of its parameters")
			}
		})
	}
}
