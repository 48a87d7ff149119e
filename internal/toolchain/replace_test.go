package toolchain

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/strata-platform/strata/internal/toolchain/sources"
)

// upstream is the module that the tests of replacements pin. Its program prints the text in its package text.
const (
	upstream        = "example.com/upstream"
	upstreamVersion = "v1.2.3"
)

// publishUpstream serves upstream to the go command from a folder and returns its lines for go.sum. Without its own go.mod,
// upstream is a module from before modules, for which the go command makes up a go.mod.
func publishUpstream(t *testing.T, ownGoMod bool) string {
	t.Helper()
	proxy, modules := t.TempDir(), t.TempDir()
	t.Setenv("GOPROXY", "file://"+proxy)
	t.Setenv("GONOSUMDB", "example.com")
	t.Setenv("GOMODCACHE", modules)
	t.Cleanup(func() {
		// The files of the module cache are read-only, so the go command must remove them.
		if out, err := exec.Command("go", "clean", "-modcache").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	goMod := "module " + upstream + "\n"
	if ownGoMod {
		goMod += "\ngo 1.26.0\n"
	}
	versions := filepath.Join(proxy, upstream, "@v")
	write(t, filepath.Join(versions, upstreamVersion+".info"), `{"Version": "`+upstreamVersion+`"}`)
	write(t, filepath.Join(versions, upstreamVersion+".mod"), goMod)
	archive := filepath.Join(versions, upstreamVersion+".zip")
	files := map[string]string{
		"main.go":      "package main\n\nimport \"example.com/upstream/text\"\n\nfunc main() {\n\tprintln(text.Text + \"'s program\")\n}\n",
		"text/text.go": "package text\n\nconst Text = greeting + \" from upstream\"\n",
		"text/word.go": "package text\n\nconst greeting = \"hello\"\n",
	}
	if ownGoMod {
		files["go.mod"] = goMod
	}
	writeZip(t, archive, files)
	sum, err := dirhash.HashZip(archive, dirhash.Hash1)
	if err != nil {
		t.Fatal(err)
	}
	modSum, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(goMod)), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const line = upstream + " " + upstreamVersion
	return line + " " + sum + "\n" + line + "/go.mod " + modSum + "\n"
}

func writeZip(t *testing.T, path string, files map[string]string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	for name, content := range files {
		w, err := archive.Create(upstream + "@" + upstreamVersion + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// rootOfUpstream returns a repository whose program hello prints the text of upstream.
func rootOfUpstream(t *testing.T) (root, replacements string) {
	t.Helper()
	return rootOf(t, true)
}

// rootOf is rootOfUpstream for an upstream with or without its own go.mod.
func rootOf(t *testing.T, ownGoMod bool) (root, replacements string) {
	t.Helper()
	root = tinyRoot(t)
	dir := filepath.Join(root, "tools", "tiny")
	write(t, filepath.Join(dir, "go.sum"), publishUpstream(t, ownGoMod))
	write(t, filepath.Join(dir, "hello", "main.go"), "package main\n\nimport \"example.com/upstream/text\"\n\nfunc main() { println(text.Text) }\n")
	return root, filepath.Join(dir, replaceFolder)
}

const replacesText = "//strata:replace " + upstream + "@" + upstreamVersion + " text/text.go\n\npackage text\n\n"

func TestReplacementIsCompiledInsteadOfTheModulesFile(t *testing.T) {
	root, replacements := rootOfUpstream(t)
	cache := t.TempDir()
	says := func() string {
		t.Helper()
		hello, err := openTiny(t, root, cache).Path(t.Context(), "hello")
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(hello).CombinedOutput()
		if err != nil {
			t.Fatalf("hello fails: %v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if got := says(); got != "hello from upstream" {
		t.Fatalf("without a replacement hello says %q", got)
	}
	// The cache already contains the program without the replacement.
	for _, name := range []string{"strata", "us"} {
		write(t, filepath.Join(replacements, "text.go"), replacesText+"const Text = greeting + \" from "+name+"\"\n")
		if got, want := says(), "hello from "+name; got != want {
			t.Errorf("with the replacement hello says %q, want %q", got, want)
		}
	}
}

func TestReplacementIsCompiledInAModuleWithoutAGoMod(t *testing.T) {
	root, replacements := rootOf(t, false)
	write(t, filepath.Join(replacements, "text.go"), replacesText+"const Text = greeting + \" from strata\"\n")
	hello, err := openTiny(t, root, t.TempDir()).Path(t.Context(), "hello")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(hello).CombinedOutput(); err != nil || string(out) != "hello from strata\n" {
		t.Errorf("hello says %q, %v", out, err)
	}
}

func TestReplacementForAForkImportsTheFork(t *testing.T) {
	m := &module{
		dir:      "tools/tiny",
		versions: map[string]string{"example.com/one": "v1.0.0", "example.com/fork": "v2.0.0"},
		files: map[string][]byte{"_replace/text.go": []byte("//strata:replace example.com/one@v1.0.0 text/text.go\n" +
			"//strata:replace example.com/fork@v2.0.0 text/text.go\n\npackage text\n\nimport \"example.com/one/word\"\n")},
	}
	found, err := m.replacementsOf("_replace/text.go")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"example.com/one", "example.com/fork"} {
		if i >= len(found) || found[i].module != want || !strings.Contains(string(found[i].content), `import "`+want+`/word"`) {
			t.Fatalf("replacement %d of %d does not import %s/word: %+v", i+1, len(found), want, found)
		}
	}
}

func TestReplacementIsRefused(t *testing.T) {
	for _, test := range []struct{ name, content, want string }{
		{
			"when the pin has moved on", strings.Replace(replacesText, "v1.2.3", "v1.2.2", 1),
			`text.go replaces text/text.go of example.com/upstream v1.2.2, but go.mod pins "v1.2.3": if the new version still needs it`,
		},
		{"when the module is not pinned", strings.Replace(replacesText, upstream, "example.com/other", 1), `go.mod pins ""`},
		{"without a directive", "package text\n", "does not begin with //strata:replace MODULE@VERSION PATH"},
		{
			"when a second directive has no module", replacesText[:strings.Index(replacesText, "\n")+1] + "//strata:replace\n" + "package text\n",
			"does not begin with //strata:replace MODULE@VERSION PATH",
		},
		{
			"when its path leaves the module", strings.Replace(replacesText, "text/", "../text/", 1),
			"does not begin with //strata:replace MODULE@VERSION PATH",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := tinyRoot(t)
			write(t, filepath.Join(root, "tools", "tiny", replaceFolder, "text.go"), test.content)
			if _, err := open(root, t.TempDir(), tinyCatalogue()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error of open is %v, want %s", err, test.want)
			}
		})
	}
}

func TestReplacementOfNoFileIsRefused(t *testing.T) {
	root, replacements := rootOfUpstream(t)
	write(t, filepath.Join(replacements, "text.go"), strings.Replace(replacesText, "text/text.go", "text/moved.go", 1)+"const Text = \"\"\n")
	_, err := openTiny(t, root, t.TempDir()).Path(t.Context(), "hello")
	if want := "replaces text/moved.go, which example.com/upstream does not contain"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error of the build is %v, want %s", err, want)
	}
}

func TestPathDoesNotReplaceAToolWithReplacements(t *testing.T) {
	root, replacements := rootOfUpstream(t)
	write(t, filepath.Join(replacements, "text.go"), replacesText+"const Text = \"hello from strata\"\n")
	onPath := t.TempDir()
	script(t, onPath, "hello", "echo hello 1.2.3")
	t.Setenv("PATH", onPath+string(os.PathListSeparator)+os.Getenv("PATH"))
	var last Progress
	if err := openTiny(t, root, t.TempDir()).Ensure(t.Context(), func(e Event) { last = e.Progress }, "hello"); err != nil {
		t.Fatal(err)
	}
	if last != Built {
		t.Errorf("hello was %s, want %s", last, Built)
	}
}

// TestToolsReplaceTheseFiles fails if a replacement is not found, for example because it was moved.
func TestToolsReplaceTheseFiles(t *testing.T) {
	root, err := FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"pulumi-kubernetes": "github.com/pulumi/pulumi-kubernetes/provider/v4 pkg/await/condition/deleted.go\n",
		"pulumi": "github.com/ccojocar/zxcvbn-go frequency/frequency.go\ngithub.com/nbutton23/zxcvbn-go frequency/frequency.go\n" +
			"github.com/ccojocar/zxcvbn-go matching/matching.go\ngithub.com/nbutton23/zxcvbn-go matching/matching.go\n",
	}
	for _, b := range catalogue() {
		m, err := readModule(sources.In(root), b)
		if err != nil {
			t.Fatal(err)
		}
		found := ""
		for _, r := range m.replacements {
			found += r.module + " " + r.path + "\n"
		}
		if found != want[b.name] {
			t.Errorf("%s replaces %q, want %q", b.name, found, want[b.name])
		}
	}
}
