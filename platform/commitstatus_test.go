package platform_test

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/pulumitest"
	"github.com/strata-platform/strata/platform"
)

const notifyingTeams = "- {name: web, notify: {provider: github, repository: 'https://github.com/example/web'}}\n- name: api\n"

func TestNotifyOfATeamReachesItsHop(t *testing.T) {
	engine := withTeams(t, notifyingTeams, func(c *platform.Config) {
		c.Target, c.NotifyTokens, c.NotifyProxy = "local", map[string]handoff.Secret{"web": "canary-forge"}, "socks5://127.0.0.1:1080"
	})
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	provider := engine.Get(t, "kubernetes:notification.toolkit.fluxcd.io/v1beta3:Provider", "team-web-provider")
	expect(t, provider, map[string]any{
		"metadata.name": "plans-web", "metadata.namespace": "flux-system", "spec.type": "github", "spec.address": "https://github.com/example/web",
		"spec.commitStatusExpr": "'strata/plan/dev/web' + (has(event.metadata.sync) ? '/' + event.metadata.sync : '')",
	})
	if provider.DeleteTimeout == "" {
		t.Error("nothing bounds the wait for the end of the Provider")
	}
	for _, secret := range engine.OfType(secretType) {
		content, isSecret := pulumitest.Plain(t, secret.Inputs, "stringData")
		for _, value := range content.(map[string]any) {
			if namespace, _ := pulumitest.Plain(t, secret.Inputs, "metadata.namespace"); strings.Contains(value.(string), "canary-forge") && (namespace != "flux-system" || !isSecret) {
				t.Errorf("the token of the forge is in %s of %v", secret.Name, namespace)
			}
		}
	}
	expect(t, engine.Get(t, networkType, "flux-events"), map[string]any{
		"metadata.namespace": "flux-system", "spec.podSelector.matchLabels.app": "notification-controller", "spec.policyTypes": []any{"Ingress"},
		"spec.ingress": []any{map[string]any{
			"from":  []any{map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": "pulumi-kubernetes-operator"}}}},
			"ports": []any{map[string]any{"port": "http"}},
		}},
	})
	quiet := below(t, func(c *platform.Config) { c.Target = "local" })
	if err := run(quiet); err != nil {
		t.Fatal(err)
	}
	for _, policy := range quiet.OfType(networkType) {
		if policy.Name == "flux-events" {
			t.Error("the operator reaches notification-controller, although no team notifies")
		}
	}
}

func TestNotifyThatCannotWorkIsRefusedBeforeAnyResourceIsCreated(t *testing.T) {
	for target, says := range map[string]string{"gke": "upstream's operator has no Plans", "local": "notifyTokens has no token of the team"} {
		engine := withTeams(t, notifyingTeams, func(c *platform.Config) { c.Target = target })
		if err := run(engine); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: the error is %v, want %q", target, err, says)
		}
		if made := engine.All(); len(made) > 0 {
			t.Errorf("%s: %d resources were made", target, len(made))
		}
	}
}
