package platform_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/pulumitest"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/platform/operators"
)

// embeddedOnGoogle chooses the embedded operator on Google Cloud.
func embeddedOnGoogle(c *platform.Config) { c.OperatorImage = operatorImage }

// TestTheOperatorSelectsTheEntryPoint covers the folder in the fleet repository, too, which must not change with the operator:
// another one replaces Flux.
func TestTheOperatorSelectsTheEntryPoint(t *testing.T) {
	for _, c := range []struct{ target, operator, entry string }{
		{"gke", operators.Embedded, "gke-embedded"},
		{"gke", operators.Upstream, "gke"},
		{"local", operators.Embedded, "local"},
		{"local", operators.Upstream, "local-upstream"},
		{"local-upstream", operators.Upstream, "local-upstream"},
		{"acme", operators.Embedded, "acme"},
	} {
		engine := below(t, func(config *platform.Config) {
			config.Target, config.Operator, config.OperatorImage = c.target, c.operator, operatorImage
		})
		if err := run(engine); err != nil {
			t.Fatalf("%s, %s: %v", c.target, c.operator, err)
		}
		expect(t, engine.OfType(fluxType)[0], map[string]any{"path": "clusters/" + c.target})
		sync := engine.Get(t, kustomizationType, "platform-sync-kustomization")
		expect(t, sync, map[string]any{"spec.path": "./sync/clusters/" + c.entry})
		pod := c.operator == operators.Embedded && c.target != "local"
		if _, patched := sync.Inputs["spec"].ObjectValue()["patches"]; patched != pod {
			t.Errorf("%s, %s: layer 2 writes the operator's image: %v", c.target, c.operator, patched)
		}
		level := "restricted"
		if pod {
			level = "privileged"
		}
		expect(t, engine.Get(t, "kubernetes:core/v1:Namespace", "namespace-"+platform.OperatorNamespace), map[string]any{
			`metadata.labels["pod-security.kubernetes.io/enforce"]`: level,
		})
		guarded := slices.ContainsFunc(engine.All(), func(r pulumitest.Resource) bool { return r.Name == "operator-pods" })
		if guarded != pod {
			t.Errorf("%s, %s: a policy is in the place of pod security: %v", c.target, c.operator, guarded)
		}
	}
}

func TestLayer2GivesTheOperatorItsImage(t *testing.T) {
	engine := below(t, embeddedOnGoogle)
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	name, digest, _ := strings.Cut(operatorImage, "@")
	expect(t, engine.Get(t, kustomizationType, "platform-sync-kustomization"), map[string]any{
		"spec.patches[0].target": map[string]any{"kind": "Kustomization", "name": "operator"},
		"spec.patches[0].patch": `[{"op":"add","path":"/spec/images","value":[{"digest":"` + digest + `","name":"ghcr.io/strata-platform/operator","newName":"` +
			strings.TrimSuffix(name, ":1") + `","newTag":"1"}]}]`,
	})
}

func TestTheEmbeddedOperatorNeedsTheAudienceOfTheClusterOrKeysOfTheTeams(t *testing.T) {
	engine := below(t, embeddedOnGoogle)
	handed := handedOn("web", "api")
	handed["outputs"].ObjectValue()[handoff.OutputAudience] = resource.NewNullProperty()
	handed["outputs"].ObjectValue()[handoff.OutputTenants] = resource.MakeSecret(resource.NewPropertyValue(map[string]any{
		"web": map[string]any{"account": "team-web@acme", "backend": "gs://acme-web", "credentials": "", "passphrase": "canary"},
		"api": map[string]any{"account": "team-api@acme", "backend": "gs://acme-api", "credentials": "canary-key", "passphrase": "canary"},
	}))
	engine.Read["pulumi:pulumi:StackReference"] = handed
	if err := run(engine); err == nil || !strings.Contains(err.Error(), "Stacks of team web") || !strings.Contains(err.Error(), "run layer 1 with this version") {
		t.Errorf("the error is %v", err)
	}
}

// TestTheEmbeddedOperatorOnGoogleCloudOffersAllOfStrata uses what upstream's operator does not do.
func TestTheEmbeddedOperatorOnGoogleCloudOffersAllOfStrata(t *testing.T) {
	engine := withTeams(t, "- {name: web, approval: {when: always, by: [team]}}\n- name: api\n"+offered, func(c *platform.Config) {
		embeddedOnGoogle(c)
		copyEntries(t, c)
	})
	engine.Read["pulumi:pulumi:StackReference"] = handedOn("web", "api", "catalogue-database")
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	for part, type_ := range map[string]string{"team-web-plan": roleBindingType, "orders-web": roleBindingType} {
		engine.Get(t, type_, part)
	}
}
