package layerconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/layerconfig"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/repositories"
	"github.com/strata-platform/strata/teams"
)

func TestPlatformConfigKeepsAccountsApart(t *testing.T) {
	h, err := home.At(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	config, err := layerconfig.Platform(repositories.Repositories{Home: h, URL: "http://127.0.0.1:4712"}, []teams.Team{{Name: "web"}}, "teams.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, key := range []string{"gitPassword", "platformPassword", "teamCredentials"} {
		value, ok := config["strata-platform:"+key]
		if !ok || !value.Secret || value.Value == "" {
			t.Errorf("%s is not a secret of the configuration", key)
		}
		if other, ok := seen[value.Value]; ok {
			t.Errorf("%s and %s are the same login", key, other)
		}
		seen[value.Value] = key
	}
	if username := config["strata-platform:platformUsername"].Value; username != "platform-reader" {
		t.Errorf("Flux reads the platform repository as %s, which may write it", username)
	}
}

func TestUpstreamsOperatorGetsBucketsAndTheAPIServer(t *testing.T) {
	for operator, want := range map[string]struct{ target, backend, ranges string }{
		home.EmbeddedOperator: {"local", "file://", "[]"},
		home.UpstreamOperator: {"local-upstream", "", `["10.96.0.1/32"]`},
	} {
		h, err := home.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := h.KeepOperator(operator); err != nil {
			t.Fatal(err)
		}
		first, err := layerconfig.Bootstrap(h, "teams.yaml")
		if err != nil {
			t.Fatal(err)
		}
		second, err := layerconfig.Platform(repositories.Repositories{Home: h, URL: "http://127.0.0.1:4712"}, nil, "teams.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if got := first["strata-bootstrap:tenantBackend"].Value; (got == "") != (want.backend == "") || !strings.HasPrefix(got, want.backend) {
			t.Errorf("%s: the state of the Stacks is at %q, want %q", operator, got, want.backend)
		}
		if got := second["strata-platform:target"].Value; got != want.target {
			t.Errorf("%s: the target is %s, want %s", operator, got, want.target)
		}
		if got := second["strata-platform:operator"].Value; got != operator {
			t.Errorf("%s: the operator of layer 2 is %s", operator, got)
		}
		if got := second["strata-platform:privateRanges"].Value; got != want.ranges {
			t.Errorf("%s: the teams' pods reach %s, want %s", operator, got, want.ranges)
		}
	}
}

func TestTokensOfForgesComeFromTheHome(t *testing.T) {
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	list := []teams.Team{{Name: "web", Notify: &teams.Notify{Provider: teams.NotifyGitHub}}, {Name: "shop"}}
	for _, step := range []struct{ file, content, want, refusal string }{
		{file: "notify-shop", content: "canary-unused"},
		{file: "notify-web", content: "canary-forge\n", want: `{"web":"canary-forge"}`},
		{file: "notify-web", content: " \n", refusal: "notify-web must contain the token"},
		{file: "notify-web", content: "canary and more", refusal: "notify-web must contain the token"},
		{file: "notify-web", content: strings.Repeat("canary", 1000), refusal: "notify-web must contain the token"},
	} {
		if err := os.MkdirAll(filepath.Dir(h.SecretFile(step.file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(h.SecretFile(step.file), []byte(step.content), 0o600); err != nil {
			t.Fatal(err)
		}
		config, err := layerconfig.Platform(repositories.Repositories{Home: h, URL: "http://127.0.0.1:4712"}, list, "teams.yaml")
		if step.refusal != "" {
			if err == nil || !strings.Contains(err.Error(), step.refusal) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%q: the error is %v, want %q", step.content, err, step.refusal)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := config["strata-platform:notifyTokens"]; got.Value != step.want || step.want != "" && !got.Secret {
			t.Errorf("%s: the tokens are %+v, want %s", step.file, got, step.want)
		}
	}
}
