package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/strata-platform/strata/operator/engine/project"
)

func TestAliasesOfAProjectAreBounded(t *testing.T) {
	big := strings.Repeat("x", 300_000)
	nested := "a0: &a0 [x, x]\n"
	for i := range 40 {
		nested += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	for name, c := range map[string]struct {
		document string
		refused  bool
	}{
		"a large value, often":   {"a: &a " + big + "\nb: [" + strings.Repeat("*a,", 100_000) + "]\n", true},
		"a large key, often":     {"? &a " + big + "\n: 1\nb: [" + strings.Repeat("{*a : 1},", 100_000) + "]\n", true},
		"lists of lists":         {nested, true},
		"one that holds itself":  {"a: &a [*a]\n", true},
		"a merged map, often":    {"a: &a {x: " + big + "}\nb: [" + strings.Repeat("{<<: *a},", 50_000) + "]\n", true},
		"no alias":               {"name: shop\nb: " + big + "\n", false},
		"some aliases":           {"name: &n shop\nb: [*n, *n]\nc: *n\n", false},
		"nothing":                {"", false},
		"the same anchor, twice": {"a: &a x\nb: &a y\nc: *a\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			var into map[string]any
			if err := project.DecodeYAML([]byte(c.document), &into); (err != nil) != c.refused {
				t.Errorf("error %v, refused should be %v", err, c.refused)
			}
		})
	}
}

func TestPluginsAreNotUnlinkedThroughALinkOfTheRun(t *testing.T) {
	beside := t.TempDir()
	for _, folder := range []string{pluginsFolder, schemasFolder} {
		if err := os.WriteFile(filepath.Join(beside, folder), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := tokenRun(t, nil)
	if err := os.Symlink(beside, filepath.Join(r.dir, homeFolder)); err != nil {
		t.Fatal(err)
	}
	if err := r.unshare(); err == nil {
		t.Error("the link was followed")
	}
	if left, err := os.ReadDir(beside); err != nil || len(left) != 2 {
		t.Errorf("beside the run are %v (%v), want both files", left, err)
	}
}

func TestSearchOfOtherTeamsStatesIsBounded(t *testing.T) {
	const kind, id = "gcp:storage/bucket:Bucket", "shop"
	state := []byte(`{"checkpoint": {"latest": {"resources": [{"urn": "u", "type": "` + kind + `", "id": "` + id + `"}]}}}`)
	stacks := func(dir string) string { return filepath.Join(dir, ".pulumi", "stacks", "shop") }
	for name, c := range map[string]struct {
		attack func(dir, own string) error
		held   bool
	}{
		"nothing":       {func(dir, _ string) error { return os.WriteFile(filepath.Join(dir, "a.json"), state, 0o600) }, true},
		"a pipe":        {func(dir, _ string) error { return syscall.Mkfifo(filepath.Join(dir, "a.json"), 0o600) }, false},
		"a sparse file": {func(dir, _ string) error { return os.WriteFile(filepath.Join(dir, "a.json"), nil, 0o600) }, false},
		"deep nesting": {func(dir, _ string) error {
			return os.WriteFile(filepath.Join(dir, "a.json"), []byte(strings.Repeat("[", 1<<20)), 0o600)
		}, false},
		"a link to another": {func(dir, own string) error { return os.Symlink(own, filepath.Join(dir, "a.json")) }, false},
		"a link to itself":  {func(dir, _ string) error { return os.Symlink(".", filepath.Join(dir, "loop")) }, false},
		"a link of folders": {func(dir, own string) error { return os.Symlink(filepath.Dir(own), filepath.Join(dir, "x")) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			dir, own := stacks(filepath.Join(root, "team-api")), filepath.Join(stacks(filepath.Join(root, "team-web")), "dev.json")
			for _, folder := range []string{dir, filepath.Dir(own)} {
				if err := os.MkdirAll(folder, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(own, state, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := c.attack(dir, own); err != nil {
				t.Fatal(err)
			}
			if name == "a sparse file" {
				if err := os.Truncate(filepath.Join(dir, "a.json"), 1<<40); err != nil {
					t.Fatal(err)
				}
			}
			r := &run{local: true, stateFolder: ".", Request: Request{Project: "shop", Stack: "dev", StateRoot: root, BackendFolder: filepath.Join(root, "team-web")}}
			if got := r.holder(t.Context(), kind, id); (got != "") != c.held {
				t.Errorf("held by %q", got)
			}
		})
	}
}

func TestSearchOfATeamsStatesReadsNoMoreThanItsBudget(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "team-api", ".pulumi", "stacks", "shop")
	state := []byte(`{"checkpoint": {"latest": {"resources": [{"urn": "u", "type": "a", "id": "b"}]}}}`)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "a.json"), state, 0o600)); err != nil {
		t.Fatal(err)
	}
	r := &run{local: true, Request: Request{StateRoot: root}}
	for budget, want := range map[int64]bool{int64(len(state)): true, int64(len(state)) - 1: false} {
		if got := r.teamHolds(t.Context(), "team-api", "", "a", "b", budget); got != want {
			t.Errorf("with %d bytes: %t, want %t", budget, got, want)
		}
	}
}
