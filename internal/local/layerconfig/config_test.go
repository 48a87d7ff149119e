package layerconfig_test

import (
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
