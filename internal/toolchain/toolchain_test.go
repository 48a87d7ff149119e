package toolchain

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPathBuildsOneToolOfABundle(t *testing.T) {
	tools := openTiny(t, tinyRoot(t), t.TempDir())

	hello, err := tools.Path(t.Context(), "hello")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(hello).CombinedOutput()
	if err != nil || string(out) != "hello v1.2.3\n" {
		t.Errorf("hello prints %q, %v; want the pinned version", out, err)
	}
	if got := entries(t, filepath.Dir(hello)); !slices.Equal(got, []string{"hello"}) {
		t.Errorf("the cache folder contains %v, want only hello", got)
	}

	folder, err := tools.Path(t.Context(), "folder")
	if err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(filepath.Join(folder, "file")); string(content) != "content" {
		t.Errorf("the folder's file is %q, %v", content, err)
	}
	if filepath.Dir(folder) != filepath.Dir(hello) {
		t.Errorf("%s and %s of one bundle are in different folders", folder, hello)
	}
}

func TestALocalReplacementOfAModuleIsBuiltIn(t *testing.T) {
	root, cache := tinyRoot(t), t.TempDir()
	dir := filepath.Join(root, "tools", "tiny")
	write(t, filepath.Join(dir, "go.mod"), `module example.com/tiny

go 1.26.0

require (
	example.com/greeting v1.0.0
	example.com/upstream v1.2.3
)

replace example.com/greeting => ./greeting
`)
	write(t, filepath.Join(dir, "greeting", "go.mod"), "module example.com/greeting\n\ngo 1.26.0\n")
	write(t, filepath.Join(dir, "hello", "main.go"), `package main

import "example.com/greeting"

func main() { println(greeting.Text) }
`)
	for _, text := range []string{"good morning", "good evening"} {
		write(t, filepath.Join(dir, "greeting", "greeting.go"), "package greeting\n\nconst Text = \""+text+"\"\n")
		hello, err := openTiny(t, root, cache).Path(t.Context(), "hello")
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(hello).CombinedOutput(); err != nil || string(out) != text+"\n" {
			t.Errorf("hello prints %q, %v; want %s", out, err, text)
		}
	}
}

func TestEnsureReportsWhatItBuilds(t *testing.T) {
	tools := openTiny(t, tinyRoot(t), t.TempDir())
	var lines []string
	ensure := func() {
		t.Helper()
		report := func(e Event) {
			e.Elapsed = 0
			lines = append(lines, e.String())
		}
		if err := tools.Ensure(t.Context(), report, "hello", "folder"); err != nil {
			t.Fatal(err)
		}
	}
	ensure()
	want := []string{
		"building hello v1.2.3 (1 of 2)", "built hello v1.2.3 (1 of 2)",
		"building folder v1.2.3 (2 of 2)", "built folder v1.2.3 (2 of 2)",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("reported %q, want %q", lines, want)
	}
	lines = nil
	ensure()
	if len(lines) != 0 {
		t.Errorf("a warm Ensure reported %q", lines)
	}
}

func TestReleaseOnPath(t *testing.T) {
	for _, test := range []struct {
		name, says string
		want       Progress
	}{
		{"the pinned version is copied", "hello 1.2.3", Copied},
		{"another version is not", "hello 1.2.4", Built},
	} {
		t.Run(test.name, func(t *testing.T) {
			onPath := t.TempDir()
			release := script(t, onPath, "hello", "echo "+test.says)
			t.Setenv("PATH", onPath+string(os.PathListSeparator)+os.Getenv("PATH"))
			tools := openTiny(t, tinyRoot(t), t.TempDir())
			var last Progress
			if err := tools.Ensure(t.Context(), func(e Event) { last = e.Progress }, "hello"); err != nil {
				t.Fatal(err)
			}
			if last != test.want {
				t.Errorf("hello was %s, want %s", last, test.want)
			}
			// The copy stays after the release is removed.
			if err := os.Remove(release); err != nil {
				t.Fatal(err)
			}
			hello, err := tools.Path(t.Context(), "hello")
			if err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(hello).CombinedOutput(); err != nil {
				t.Errorf("hello fails: %v: %s", err, out)
			}
		})
	}
}

func TestToolOfTheCacheOnPathIsNoRelease(t *testing.T) {
	cache, onPath := t.TempDir(), t.TempDir()
	old := script(t, filepath.Join(cache, "tiny-old"), "hello", "echo 1.2.3")
	if err := os.Symlink(old, filepath.Join(onPath, "hello")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", onPath+string(os.PathListSeparator)+os.Getenv("PATH"))
	tools := openTiny(t, tinyRoot(t), cache)
	var last Progress
	if err := tools.Ensure(t.Context(), func(e Event) { last = e.Progress }, "hello"); err != nil {
		t.Fatal(err)
	}
	if last != Built {
		t.Errorf("hello was %s, want %s", last, Built)
	}
}

func TestListTellsStates(t *testing.T) {
	tools := openTiny(t, tinyRoot(t), t.TempDir())
	if _, err := tools.Path(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("STRATA_TOOL_BROKEN", "/somewhere/broken")
	list, err := tools.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range list {
		got = append(got, strings.Join([]string{s.Name, s.Version, s.Module, string(s.State)}, " "))
	}
	want := []string{
		"hello v1.2.3 example.com/upstream ready",
		"folder v1.2.3 example.com/upstream missing",
		"broken v1.2.3 example.com/upstream override",
		"hello-again v1.2.3 example.com/upstream missing",
	}
	if !slices.Equal(got, want) {
		t.Errorf("List is %q, want %q", got, want)
	}
	if list[2].Path != "/somewhere/broken" {
		t.Errorf("the override's path is %q", list[2].Path)
	}
}

func TestFindRoot(t *testing.T) {
	root := tinyRoot(t)
	inside := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := FindRoot(inside); got != root || err != nil {
		t.Errorf("FindRoot inside is %q, %v; want %q", got, err, root)
	}
	// The tool modules are Go modules too, but not the root.
	if got, err := FindRoot(filepath.Join(root, "tools", "tiny")); got != root || err != nil {
		t.Errorf("FindRoot in a tool's module is %q, %v; want %q", got, err, root)
	}
	if got, err := FindRoot(t.TempDir()); err == nil || !strings.Contains(err.Error(), "run this in a clone of Strata") {
		t.Errorf("FindRoot outside is %q, %v; want an error that says what to do", got, err)
	}
}

// TestCatalogueIsPinned opens the real catalogue: every tool has a version in its go.mod.
func TestCatalogueIsPinned(t *testing.T) {
	root, err := FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	tools, err := open(root, t.TempDir(), catalogue())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, name := range tools.Names() {
		if seen[name] {
			t.Errorf("%s is in the catalogue twice", name)
		}
		seen[name] = true
		if tools.Version(name) == "" {
			t.Errorf("%s has no version", name)
		}
	}
	if got := tools.Version("no-such-tool"); got != "" {
		t.Errorf("an unknown tool has version %q", got)
	}
}

func TestKubernetesSettings(t *testing.T) {
	got := strings.Join(kubernetes("kube-apiserver").flags("v1.36.3"), " ")
	for _, want := range []string{"gitVersion=v1.36.3", "gitMajor=1", "gitMinor=36"} {
		if !strings.Contains(got, "-X k8s.io/component-base/version."+want) {
			t.Errorf("the flags %q do not contain %s", got, want)
		}
	}
}

func TestToolsOfOneProgramAreBuiltOnce(t *testing.T) {
	builds := filepath.Join(t.TempDir(), "builds")
	fakeGo(t, `echo build >>"`+builds+`"`)
	tools := openTiny(t, tinyRoot(t), t.TempDir())
	var infos []os.FileInfo
	var reported []Progress
	report := func(e Event) { reported = append(reported, e.Progress) }
	for _, name := range []string{"hello-again", "hello"} {
		if err := tools.Ensure(t.Context(), report, name); err != nil {
			t.Fatal(err)
		}
		path, err := tools.Path(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		infos = append(infos, info)
	}
	if !os.SameFile(infos[0], infos[1]) {
		t.Error("the two names are different files")
	}
	if want := []Progress{Building, Built, Linked}; !slices.Equal(reported, want) {
		t.Errorf("reported %q, want %q", reported, want)
	}
	if content, err := os.ReadFile(builds); string(content) != "build\n" {
		t.Errorf("the builds are %q, %v; want one", content, err)
	}
}
