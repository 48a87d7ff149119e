package manifests

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/plugins/flux/options"
	"github.com/strata-platform/strata/internal/local/plugins/flux/repository"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

func TestRender(t *testing.T) {
	base := toolchaintest.Path(t, "flux-manifests")
	before := list(t, base)
	no := false
	files, err := Render(options.Options{
		Config:    options.Config{Git: repository.Git{URL: "https://git.example.com/fleet.git", Branch: "prod"}},
		Manifests: base,
		Install: options.Install{
			// Render sorts the components.
			Components:    []string{"kustomize-controller", "source-controller"},
			Path:          "clusters/a",
			Interval:      "30s",
			NetworkPolicy: &no,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"clusters/a/flux-system/gotk-components.yaml",
		"clusters/a/flux-system/gotk-sync.yaml",
		"clusters/a/flux-system/kustomization.yaml",
	}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Fatalf("files are %q, want %q", got, want)
	}
	components, syncs := files[want[0]], files[want[1]]
	for _, part := range []string{"# Flux Version: v2.9.4", "# Components: kustomize-controller,source-controller", "name: source-controller"} {
		if !strings.Contains(components, part) {
			t.Errorf("the components do not contain %q", part)
		}
	}
	for _, part := range []string{"app: helm-controller", "kind: NetworkPolicy"} {
		if strings.Contains(components, part) {
			t.Errorf("the components contain %q", part)
		}
	}
	for _, part := range []string{"branch: prod", "interval: 30s", "path: ./clusters/a", "url: https://git.example.com/fleet.git"} {
		if !strings.Contains(syncs, part) {
			t.Errorf("the sync does not contain %q", part)
		}
	}
	if got := list(t, base); !slices.Equal(got, before) {
		t.Errorf("the folder of manifests now contains %q", got)
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
