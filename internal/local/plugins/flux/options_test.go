package flux

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

func TestValidate(t *testing.T) {
	for name, test := range map[string]struct {
		install  Install
		property string
		reason   string
	}{
		"nothing set is fine":               {},
		"latest is the pinned version":      {install: Install{Version: "latest"}},
		"a component that does not exist":   {Install{Components: []string{"source-controller", "kustomize-controller", "x"}}, "components", `"x" is none of`},
		"a component that is required":      {Install{Components: []string{"source-controller"}}, "components", "kustomize-controller is required"},
		"an extra that does not exist":      {Install{ComponentsExtras: []string{"x"}}, "componentsExtras", `"x" is none of`},
		"a version without v":               {Install{Version: "2.9.4"}, "version", `"2.9.4" does not start with v`},
		"a log level that does not exist":   {Install{LogLevel: "trace"}, "logLevel", `"trace" is none of info, debug, error`},
		"an interval that is none":          {Install{Interval: "soon"}, "interval", `"soon" is not a positive duration`},
		"a timeout that is negative":        {Install{Timeouts: Timeouts{Delete: "-1s"}}, "timeouts.delete", `"-1s" is not a positive duration`},
		"an override that is no YAML":       {Install{KustomizationOverride: "{"}, "kustomizationOverride", "not a kustomization"},
		"an override without the sync":      {Install{KustomizationOverride: "resources: [gotk-components.yaml]"}, "kustomizationOverride", "gotk-sync.yaml is missing"},
		"an override that keeps everything": {install: Install{KustomizationOverride: testOverride}},
	} {
		t.Run(name, func(t *testing.T) {
			problems := test.install.Validate()
			if test.property == "" {
				if len(problems) > 0 {
					t.Errorf("problems are %v", problems)
				}
				return
			}
			if len(problems) != 1 || problems[0].Property != test.property || !strings.Contains(problems[0].Reason, test.reason) {
				t.Errorf("problems are %v, want %s: %s", problems, test.property, test.reason)
			}
		})
	}
}

func TestBootstrapRefuses(t *testing.T) {
	manifests := t.TempDir()
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"no repository":        {Options{}, "the provider has no git.url"},
		"ssh":                  {Options{Config: Config{Git: Git{URL: "ssh://git@x/y"}}}, "neither http nor https"},
		"a password over http": {Options{Config: Config{Git: Git{URL: "http://x/y", HTTP: HTTP{Password: "p"}}}}, "would show the password"},
		"no manifests":         {Options{Config: Config{Git: Git{URL: "https://x/y"}}}, "set " + ManifestsVariable},
		"another version": {
			Options{Config: Config{Git: Git{URL: "https://x/y"}}, Manifests: manifests, Install: Install{Version: "v1.2.3"}},
			"no manifests of Flux v1.2.3 in " + manifests,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Bootstrap(t.Context(), test.options, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error is %v, want %q", err, test.want)
			}
		})
	}
}

func TestRender(t *testing.T) {
	base := toolchaintest.Path(t, "flux-manifests")
	before := list(t, base)
	no := false
	files, err := Render(Options{
		Config:    Config{Git: Git{URL: "https://git.example.com/fleet.git", Branch: "prod"}},
		Manifests: base,
		Install: Install{
			// The order of components does not matter.
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
	if got := paths(files); !slices.Equal(got, want) {
		t.Fatalf("files are %q, want %q", got, want)
	}
	components, syncs := files[want[0]], files[want[1]]
	for _, part := range []string{"# Flux Version: v2.9.4", "# Components: kustomize-controller,source-controller", "name: source-controller"} {
		if !strings.Contains(components, part) {
			t.Errorf("the components lack %q", part)
		}
	}
	for _, part := range []string{"app: helm-controller", "kind: NetworkPolicy"} {
		if strings.Contains(components, part) {
			t.Errorf("the components hold %q", part)
		}
	}
	for _, part := range []string{"branch: prod", "interval: 30s", "path: ./clusters/a", "url: https://git.example.com/fleet.git"} {
		if !strings.Contains(syncs, part) {
			t.Errorf("the syncs lack %q", part)
		}
	}
	if got := list(t, base); !slices.Equal(got, before) {
		t.Errorf("the folder of manifests was changed to %q", got)
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

func TestLeavesAreDeletedFirst(t *testing.T) {
	sync := func(name string, needs ...string) dependent {
		return dependent{kind: "Kustomization", object: &kustomizev1.Kustomization{ObjectMeta: named("ns", name)}, needs: needs}
	}
	for name, test := range map[string]struct {
		syncs []dependent
		want  []string
	}{
		"what nobody needs":              {[]dependent{sync("a"), sync("b", "ns/a"), sync("c", "ns/b")}, []string{"ns/c"}},
		"all where there is no order":    {[]dependent{sync("a"), sync("b")}, []string{"ns/a", "ns/b"}},
		"all where they need each other": {[]dependent{sync("a", "ns/b"), sync("b", "ns/a")}, []string{"ns/a", "ns/b"}},
		"not by another namespace's":     {[]dependent{sync("a"), sync("b", "other/a")}, []string{"ns/a", "ns/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range leaves(test.syncs) {
				got = append(got, s.key())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("leaves are %q, want %q", got, test.want)
			}
		})
	}
}
