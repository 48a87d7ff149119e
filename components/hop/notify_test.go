package hop_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/internal/pulumitest"
)

const (
	providerType = "kubernetes:notification.toolkit.fluxcd.io/v1beta3:Provider"
	alertType    = "kubernetes:notification.toolkit.fluxcd.io/v1beta3:Alert"
)

func notified() *hop.Notify {
	return &hop.Notify{
		Provider: "gitea", Repository: pulumi.String("https://git.example.com/example/web"), Token: pulumi.String("canary-forge"),
		Status: "strata/plan/dev/web", Proxy: pulumi.String("socks5://127.0.0.1:1080"),
	}
}

func TestResultsOfPlansArePutOnCommitsWithATokenThatTheTeamCannotRead(t *testing.T) {
	engine, args := newEngine(), given()
	args.Notify = notified()
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	token, proxy := engine.Get(t, secretType, "web-notify"), engine.Get(t, secretType, "web-notify.proxy")
	provider, alert := engine.Get(t, providerType, "web-provider"), engine.Get(t, alertType, "web-alert")
	for _, made := range []pulumitest.Resource{token, proxy, provider, alert} {
		if got := plain(t, made, "metadata.namespace"); got != "flux-system" {
			t.Errorf("%s is in namespace %v", made.Name, got)
		}
		if text := fmt.Sprint(made.Inputs); made.Name != "web-notify" && strings.Contains(text, "canary-forge") {
			t.Errorf("%s has the token", made.Name)
		}
	}
	if !token.Inputs["stringData"].ContainsSecrets() || !proxy.Inputs["stringData"].ContainsSecrets() {
		t.Error("the token and the proxy are in plain text")
	}
	want := map[string]any{
		"type": "gitea", "address": "https://git.example.com/example/web", "secretRef": map[string]any{"name": "plans-web"},
		"proxySecretRef":   map[string]any{"name": "plans-web.proxy"},
		"commitStatusExpr": "'strata/plan/dev/web' + (has(event.metadata.sync) ? '/' + event.metadata.sync : '')",
	}
	if got := plain(t, provider, "spec"); !reflect.DeepEqual(got, want) {
		t.Errorf("the Provider is %v, want %v", got, want)
	}
	want = map[string]any{
		"providerRef": map[string]any{"name": "plans-web"}, "eventSeverity": "info",
		// Without the operator's own Kustomization, the Alert would also tell what Flux does itself.
		"eventSources": []any{map[string]any{"kind": "Kustomization", "name": "plans-web"}},
	}
	if got := plain(t, alert, "spec"); !reflect.DeepEqual(got, want) {
		t.Errorf("the Alert is %v, want %v", got, want)
	}
	if got := plain(t, engine.Get(t, policyType, "web-policy"), "spec.notify"); got != "plans-web" {
		t.Errorf("the TenantPolicy names %v", got)
	}
}

func TestAHopNotifiesNobodyByDefault(t *testing.T) {
	engine := newEngine()
	if err := run(engine, given()); err != nil {
		t.Fatal(err)
	}
	if all := append(engine.OfType(providerType), engine.OfType(alertType)...); len(all) > 0 {
		t.Errorf("it has created %v", all)
	}
	if spec := plain(t, engine.Get(t, policyType, "web-policy"), "spec").(map[string]any); spec["notify"] != nil {
		t.Errorf("the TenantPolicy names %v", spec["notify"])
	}
}

func TestNotifyThatFluxCouldNotUseIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*hop.HopArgs)
		says   string
	}{
		"no token":              {func(a *hop.HopArgs) { a.Notify.Token = nil }, "notify's provider, repository and token must be given"},
		"HTTP":                  {func(a *hop.HopArgs) { a.Notify.Repository = pulumi.String("http://git.example.com/a/b") }, "must begin with https://"},
		"no policy":             {func(a *hop.HopArgs) { a.Policy = nil }, "notify needs a policy"},
		"an expression":         {func(a *hop.HopArgs) { a.Notify.Status = "' + provider.spec.address + '" }, "must be 1 to 100 letters"},
		"a status that is long": {func(a *hop.HopArgs) { a.Notify.Status = strings.Repeat("a", 101) }, "must be 1 to 100 letters"},
	} {
		args := given()
		args.Notify = notified()
		test.change(args)
		if err := run(newEngine(), args); err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: the error is %v, want %q", name, err, test.says)
		}
	}
}
