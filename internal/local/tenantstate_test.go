package local

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/internal/layers"
)

// holdPassphrases writes the state of layer 1 with the passphrases of some namespaces in it.
func holdPassphrases(t *testing.T, p *Platform, namespaces ...string) layers.Runner {
	t.Helper()
	resources := []map[string]string{}
	for _, namespace := range namespaces {
		resources = append(resources, map[string]string{"urn": bootstrap.PassphraseURN(p.Environment, namespace)})
	}
	raw, err := json.Marshal(map[string]any{"checkpoint": map[string]any{"latest": map[string]any{"resources": resources}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(p.Home.LayerState(), ".pulumi", "stacks", bootstrap.Project, p.Environment+".json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return layers.Runner{Stack: p.Environment, Env: map[string]string{"PULUMI_BACKEND_URL": "file://" + p.Home.LayerState()}}
}

func TestStateGoesWithItsPassphrase(t *testing.T) {
	for name, test := range map[string]struct {
		layer string
		made  []string
		kept  []string
	}{
		"all where layer 1 is gone":        {BootstrapLayer, nil, nil},
		"that of a team which is no more":  {BootstrapLayer, []string{"team-web"}, []string{"team-web"}},
		"none where every team is there":   {BootstrapLayer, []string{"team-api", "team-web"}, []string{"team-api", "team-web"}},
		"none where it is about layer two": {PlatformLayer, nil, []string{"team-api", "team-web"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := openTestPlatform(t)
			runner := holdPassphrases(t, p, test.made...)
			layer := layers.Layer{Name: test.layer, Project: bootstrap.Project}
			if err := p.dropUnreadable(t.Context(), runner, layer); err != nil {
				t.Errorf("without any state: %v", err)
			}
			for _, namespace := range []string{"team-api", "team-web"} {
				if err := os.MkdirAll(filepath.Join(p.Home.TenantState(namespace), ".pulumi"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.dropUnreadable(t.Context(), runner, layer); err != nil {
				t.Fatal(err)
			}
			left, err := os.ReadDir(p.Home.TenantStates())
			if err != nil {
				t.Fatal(err)
			}
			var kept []string
			for _, each := range left {
				kept = append(kept, each.Name())
			}
			if len(kept) != len(test.kept) || len(kept) > 0 && kept[0] != test.kept[0] {
				t.Errorf("kept is the state of %v, want that of %v", kept, test.kept)
			}
		})
	}
}
