package toolchain

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain/sources"
)

func TestThisProgramContainsTheSourcesOfTheClone(t *testing.T) {
	root, err := FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	want, err := Archive(root)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(sources.Archive(), want) {
		t.Error("sources.txtar is stale: run go generate ./internal/toolchain/...")
	}
}

// TestToolsOutsideOfAClone proves that a clone's tools in the cache serve every other folder: the addresses are equal.
func TestToolsOutsideOfAClone(t *testing.T) {
	root, err := FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	clone, err := open(root, cache, catalogue())
	if err != nil {
		t.Fatal(err)
	}
	want, err := clone.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, wantGo, err := clone.Go(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	organisation := t.TempDir()
	write(t, filepath.Join(organisation, "tools", "kubernetes", "go.mod"), "module evil\n")
	t.Setenv("TMPDIR", t.TempDir())
	for name, folder := range map[string]string{"no repository": "", "a repository with tools/ of its own": organisation} {
		tools, err := open(folder, cache, catalogue())
		if err != nil {
			t.Fatal(name, err)
		}
		got, err := tools.List(t.Context())
		if err != nil {
			t.Fatal(name, err)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: the tool is %v, want %v", name, got[i], want[i])
			}
		}
		if _, needed, err := tools.Go(t.Context()); err != nil || needed != wantGo {
			t.Errorf("%s: the tools need %s, %v; want %s", name, needed, err, wantGo)
		}
		if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
	}
}

// TestAnArchiveBuilds builds a tool from an archive instead of a clone.
func TestAnArchiveBuilds(t *testing.T) {
	root := tinyRoot(t)
	clone := openTiny(t, root, t.TempDir())
	want, err := clone.Path(t.Context(), "hello")
	if err != nil {
		t.Fatal(err)
	}
	from := sources.Sources{Files: os.DirFS(root)}
	tools := openTiny(t, root, t.TempDir())
	tools.sources = from
	for name, b := range map[string]bundle{"tiny": tinyCatalogue()[0]} {
		if tools.modules[name], err = readModule(from, b); err != nil {
			t.Fatal(err)
		}
	}
	got, err := tools.Path(t.Context(), "hello")
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(filepath.Dir(got)) != filepath.Base(filepath.Dir(want)) {
		t.Errorf("the tool of an archive is %s, and that of a clone %s", got, want)
	}
}
