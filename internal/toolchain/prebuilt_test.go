package toolchain

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain/prebuilt"
)

// bundledCatalogue returns a group of two programs with equal contents and a folder, and a group of one program.
func bundledCatalogue() []bundle {
	const pin = "example.com/upstream"
	return []bundle{
		{name: "tiny", module: "tiny", tools: []tool{
			{name: "hello", pkg: "./hello", pin: pin}, {name: "folder", pkg: "./folder", pin: pin, folder: true}, {name: "hello-again", pkg: "./hello", pin: pin},
		}},
		{name: "other", module: "tiny", tools: []tool{{name: "other", pkg: "./hello", pin: pin, tags: "other"}}},
	}
}

func openBundled(t *testing.T, root, cache string) *Toolchain {
	t.Helper()
	tools, err := open(root, cache, bundledCatalogue())
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// aBundle writes the bundle of the tools that root pins, and returns its file, its manifest and the manifest's digest. The
// programs are shell scripts, so that nothing is compiled.
func aBundle(t *testing.T, root string) (file string, m prebuilt.Manifest, digest string) {
	t.Helper()
	maker := openBundled(t, root, t.TempDir())
	for _, b := range maker.bundles {
		dir := maker.prebuiltDir(b)
		for _, tl := range b.tools {
			if tl.folder {
				write(t, filepath.Join(dir, tl.name, "deep", "file"), "content")
				continue
			}
			script(t, dir, tl.name, "echo "+b.name)
		}
	}
	m, save, err := maker.Bundle(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := save(&archive); err != nil {
		t.Fatal(err)
	}
	_, digest, err = m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "tools"+prebuilt.Extension)
	write(t, file, archive.String())
	return file, m, digest
}

// fetch fetches a bundle and returns the names of the fetched tools.
func fetch(t *testing.T, tools *Toolchain, source, digest string) ([]string, error) {
	t.Helper()
	return tools.Fetch(t.Context(), source, "tools"+prebuilt.Extension, digest, func(done, all int64) {
		if done > all {
			t.Errorf("%d of %d bytes are written", done, all)
		}
	})
}

func TestFetchedToolsNeedNoGo(t *testing.T) {
	root, cache := tinyRoot(t), t.TempDir()
	file, _, digest := aBundle(t, root)
	t.Setenv("PATH", t.TempDir())
	tools := openBundled(t, root, cache)
	for name, source := range map[string]string{"a file": file, "a folder": filepath.Dir(file)} {
		t.Run("from "+name, func(t *testing.T) {
			cache := t.TempDir()
			fetched, err := fetch(t, openBundled(t, root, cache), source, digest)
			if want := []string{"hello", "folder", "hello-again", "other"}; err != nil || !slices.Equal(fetched, want) {
				t.Errorf("fetched %v, %v, want %v", fetched, err, want)
			}
		})
	}
	if _, err := fetch(t, tools, file, digest); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hello", "hello-again", "other"} {
		path, err := tools.Path(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
	folder, err := tools.Path(t.Context(), "folder")
	if err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(filepath.Join(folder, "deep", "file")); err != nil || string(content) != "content" {
		t.Errorf("the folder contains %q, %v", content, err)
	}
	list, err := tools.List(t.Context())
	if err != nil || slices.ContainsFunc(list, func(s Status) bool { return s.State != Ready }) {
		t.Errorf("the tools are %v, %v", list, err)
	}
	if removed, err := tools.Prune(t.Context()); err != nil || len(removed) > 0 {
		t.Errorf("prune removes %v, %v", removed, err)
	}
}

func TestFetchReadsNothingIfNoToolIsMissing(t *testing.T) {
	root := tinyRoot(t)
	file, _, digest := aBundle(t, root)
	tools := openBundled(t, root, t.TempDir())
	if _, err := fetch(t, tools, file, digest); err != nil {
		t.Fatal(err)
	}
	if fetched, err := fetch(t, tools, "/nowhere", digest); err != nil || len(fetched) > 0 {
		t.Errorf("the second call fetches %v, %v", fetched, err)
	}
}

func TestFetchKeepsTheToolsThatAreThere(t *testing.T) {
	root := tinyRoot(t)
	file, _, digest := aBundle(t, root)
	tools := openBundled(t, root, t.TempDir())
	built, err := tools.dir(t.Context(), tools.bundles[1])
	if err != nil {
		t.Fatal(err)
	}
	script(t, built, "other", "echo built here")
	fetched, err := fetch(t, tools, file, digest)
	if want := []string{"hello", "folder", "hello-again"}; err != nil || !slices.Equal(fetched, want) {
		t.Errorf("fetched %v, %v, want %v", fetched, err, want)
	}
	if path, err := tools.Path(t.Context(), "other"); err != nil || filepath.Dir(path) != built {
		t.Errorf("the tool is %s, %v", path, err)
	}
}

func TestFetchedToolsServeEveryVersionOfGo(t *testing.T) {
	root, cache := tinyRoot(t), t.TempDir()
	file, _, digest := aBundle(t, root)
	if _, err := fetch(t, openBundled(t, root, cache), file, digest); err != nil {
		t.Fatal(err)
	}
	fakeGo(t, `[ "$*" != "env GOVERSION" ] || { echo go1.99.0; exit; }; exit 1`)
	if _, err := openBundled(t, root, cache).Path(t.Context(), "hello"); err != nil {
		t.Error(err)
	}
}

func TestEqualToolsGiveEqualBundles(t *testing.T) {
	var archives, digests []string
	for range 2 {
		file, _, digest := aBundle(t, tinyRoot(t))
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		archives, digests = append(archives, string(content)), append(digests, digest)
	}
	if archives[0] != archives[1] || digests[0] != digests[1] {
		t.Errorf("two bundles of equal tools differ: %v", digests)
	}
}

func TestConcurrentFetchesShareOneResult(t *testing.T) {
	root, cache := tinyRoot(t), t.TempDir()
	file, _, digest := aBundle(t, root)
	var calls sync.WaitGroup
	var mu sync.Mutex
	count := 0
	for range 4 {
		tools := openBundled(t, root, cache)
		calls.Go(func() {
			fetched, err := fetch(t, tools, file, digest)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			count += len(fetched)
		})
	}
	calls.Wait()
	if count != 4 {
		t.Errorf("%d tools were fetched, want each of 4 once", count)
	}
}

func TestTheNextFetchRemovesTheFilesOfAKilledOne(t *testing.T) {
	root, cache := tinyRoot(t), t.TempDir()
	file, _, digest := aBundle(t, root)
	stale := filepath.Join(cache, "fetch-0000000000000000"+stageInfix+"123")
	write(t, filepath.Join(stale, "half"), "half")
	tools := openBundled(t, root, cache)
	if left, err := tools.Leftovers(t.Context()); err != nil || len(left) != 1 || left[0].Path != stale {
		t.Errorf("the leftovers are %v, %v", left, err)
	}
	if _, err := fetch(t, tools, file, digest); err != nil || exists(stale) {
		t.Errorf("%s still exists, or: %v", stale, err)
	}
}

func TestABundleContainsNoToolsOfTheUser(t *testing.T) {
	t.Setenv(OverrideVariable("hello"), "/mine")
	_, _, err := openBundled(t, tinyRoot(t), t.TempDir()).Bundle(t.Context(), nil)
	checkError(t, err, "bundle the tools: STRATA_TOOL_HELLO names /mine: unset it")
}

func TestAMissingToolWithoutGoNamesTheBundle(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	tools := openBundled(t, tinyRoot(t), t.TempDir())
	err := tools.Ensure(t.Context(), nil, "hello")
	checkError(t, err, "no Go on PATH", "`strata toolchain fetch`", "install Go from https://go.dev/dl")
	list, err := tools.List(t.Context())
	if err != nil || slices.ContainsFunc(list, func(s Status) bool { return s.State != Missing || s.Path == "" }) {
		t.Errorf("the tools are %v, %v", list, err)
	}
}

// TestWriteFailsIfAFileChanges changes a tool between the manifest and the archive.
func TestWriteFailsIfAFileChanges(t *testing.T) {
	root, cache := tinyRoot(t), t.TempDir()
	file, _, digest := aBundle(t, root)
	tools := openBundled(t, root, cache)
	if _, err := fetch(t, tools, file, digest); err != nil {
		t.Fatal(err)
	}
	_, save, err := tools.Bundle(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	path, err := tools.Path(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.ToUpper(string(content)))
	if err := save(io.Discard); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("the bundle is written: %v", err)
	}
}
