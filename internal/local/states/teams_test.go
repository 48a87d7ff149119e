package states

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/home"
)

// holdPassphrases writes a state of layer 1 that contains the passphrases of some namespaces.
func holdPassphrases(t *testing.T, h home.Home, namespaces ...string) layers.Runner {
	t.Helper()
	resources := []map[string]string{}
	for _, namespace := range namespaces {
		resources = append(resources, map[string]string{"urn": bootstrap.PassphraseURNs("dev", namespace, nil)[0]})
	}
	raw, err := json.Marshal(map[string]any{"checkpoint": map[string]any{"latest": map[string]any{"resources": resources}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(h.LayerState(), ".pulumi", "stacks", bootstrap.Project, "dev"+".json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return layers.Runner{Stack: "dev", Env: map[string]string{"PULUMI_BACKEND_URL": "file://" + h.LayerState()}}
}

func TestStateWithoutItsPassphraseIsClearedAway(t *testing.T) {
	for name, test := range map[string]struct {
		passphrases, unreadable []string
	}{
		"all where layer 1 is gone":       {nil, []string{"team-api", "team-web"}},
		"that of a team which is no more": {[]string{"team-web"}, []string{"team-api"}},
		"none where every team is there":  {[]string{"team-api", "team-web"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := home.At(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			aside := func(namespace string) error { return SetAside(h, namespace) }
			runner := holdPassphrases(t, h, test.passphrases...)
			layer := layers.Layer{Name: lifecycle.BootstrapLayer, Project: bootstrap.Project}
			if err := EachUnreadable(t.Context(), h, runner, layer, aside); err != nil {
				t.Errorf("without any state: %v", err)
			}
			// A namespace that belongs to no team has its own passphrase.
			all := []string{"default", "team-api", "team-web"}
			for _, namespace := range all {
				if err := os.MkdirAll(filepath.Join(h.TenantState(namespace), ".pulumi", namespace), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := EachUnreadable(t.Context(), h, runner, layer, aside); err != nil {
				t.Fatal(err)
			}
			for _, namespace := range all {
				want := 1
				if slices.Contains(test.unreadable, namespace) {
					want = 0
				}
				kept, err := filepath.Glob(filepath.Join(h.TenantState(namespace), ".pulumi", namespace))
				if err != nil || len(kept) != want {
					t.Errorf("the state of %s is there %d times (%v), want %d", namespace, len(kept), err, want)
				}
				moved, err := filepath.Glob(filepath.Join(h.LostStates(), namespace+"-*", namespace, ".pulumi", namespace))
				if err != nil || len(moved) != 1-want {
					t.Errorf("the state of %s is kept aside %d times (%v), want %d", namespace, len(moved), err, 1-want)
				}
			}
		})
	}
}
