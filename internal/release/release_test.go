package release

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/components/plugin"
	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/parts"
	"github.com/strata-platform/strata/internal/pins"
	"github.com/strata-platform/strata/internal/signing"
	"github.com/strata-platform/strata/internal/toolchain/prebuilt"
)

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheSameFilesGiveTheSameArchive(t *testing.T) {
	made := time.Unix(1_700_000_000, 0)
	var archives [][]byte
	for _, modified := range []time.Time{time.Unix(1, 0), time.Now()} {
		dir := t.TempDir()
		program := write(t, filepath.Join(dir, "program"), "content")
		if err := os.Chtimes(program, modified, modified); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, "archive")
		if err := writeArchive(to, made, []member{{"strata", program, 0o755}}); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, content)
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("the archives differ")
	}
}

func TestTheBillOfMaterialsListsTheModulesOfAProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	made := time.Unix(1_700_000_000, 0)
	document, err := bom("strata", "v1.0.0", made, []string{self, self})
	if err != nil {
		t.Fatal(err)
	}
	var found struct {
		BOMFormat, SpecVersion, SerialNumber string
		Metadata                             struct{ Timestamp string }
		Components                           []struct{ PURL string }
	}
	if err := json.Unmarshal(document, &found); err != nil {
		t.Fatal(err)
	}
	if found.BOMFormat != "CycloneDX" || found.SpecVersion != "1.6" || found.SerialNumber != "" || found.Metadata.Timestamp != "2023-11-14T22:13:20Z" {
		t.Errorf("the document is %s", document)
	}
	if len(found.Components) == 0 || !strings.HasPrefix(found.Components[0].PURL, "pkg:golang/stdlib@1.") {
		t.Errorf("the components are %v", found.Components)
	}
	if _, err := bom("x", "v1", made, []string{write(t, filepath.Join(t.TempDir(), "text"), "text")}); err == nil {
		t.Error("a text has a bill of materials")
	}
}

func TestModulesOfAProgram(t *testing.T) {
	var got []string
	for _, c := range linked(&debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "example.com/main", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.com/a", Version: "v1.0.0", Sum: "h1:abc="},
			{Path: "example.com/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v2.0.0"}},
			{Path: "example.com/c", Version: "v1.0.0", Replace: &debug.Module{Path: "./local"}},
		},
	}) {
		text := c.PackageURL
		if c.Properties != nil {
			text += " " + (*c.Properties)[0].Value
		}
		got = append(got, text)
	}
	want := []string{"pkg:golang/stdlib@1.26.8", "pkg:golang/example.com/a@v1.0.0 h1:abc=", "pkg:golang/example.com/fork@v2.0.0"}
	if !slices.Equal(got, want) {
		t.Errorf("the modules are %v, want %v", got, want)
	}
}

// repository returns a Git repository with one commit.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "content")
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "--message", "one")
	return dir
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=1700000000 +0000")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func TestTheCommitOfARelease(t *testing.T) {
	dir := repository(t)
	c, err := readCommit(t.Context(), dir)
	if err != nil || len(c.hash) != 40 || c.time.Unix() != 1_700_000_000 || c.modified {
		t.Errorf("the commit is %+v, %v", c, err)
	}
	write(t, filepath.Join(dir, "new"), "")
	if c, err = readCommit(t.Context(), dir); err != nil || !c.modified {
		t.Errorf("with a new file the commit is %+v, %v", c, err)
	}
}

// TestTheArchiveOfThePluginHasTheNameThatPulumiLooksFor compares the version in the name with that of the plugin's schema.
func TestTheArchiveOfThePluginHasTheNameThatPulumiLooksFor(t *testing.T) {
	found := programs(commit{}, "darwin/arm64", "")[1]
	if want := "pulumi-resource-" + plugin.Name + "-v" + plugin.Version + "-darwin-arm64"; found.archive != want {
		t.Errorf("the archive is %s, want %s", found.archive, want)
	}
}

func TestReleasesThatAreNotBuilt(t *testing.T) {
	changed := repository(t)
	write(t, filepath.Join(changed, "file"), "changed")
	full := t.TempDir()
	write(t, filepath.Join(full, "old"), "")
	linux := []string{"linux/amd64"}
	for name, test := range map[string]struct {
		options Options
		says    string
	}{
		"of changes":             {Options{Root: changed, Out: t.TempDir(), Platforms: linux}, "contains changes that are not committed"},
		"for no platform":        {Options{Out: t.TempDir()}, "name a platform"},
		"for another platform":   {Options{Out: t.TempDir(), Platforms: []string{"plan9/mips"}}, `unknown platform "plan9/mips": the platforms are linux/amd64, `},
		"into a folder of files": {Options{Out: full, Platforms: linux}, "is not empty: remove it"},
		"without a repository":   {Options{Root: t.TempDir(), Out: t.TempDir(), Platforms: linux}, "find the commit of the release: git show: "},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.Log = io.Discard
			if err := Build(t.Context(), test.options); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v, want %q", err, test.says)
			}
		})
	}
}

// TestBundlesOfOtherPlatformsAreAdopted gives a release a bundle that another machine has built.
// TestTheReleaseContainsThePinnedLayer3 clones the bundle of layer 3, and compares its commit with the pin in strata.yaml.
func TestTheReleaseContainsThePinnedLayer3(t *testing.T) {
	out := t.TempDir()
	var log strings.Builder
	if err := (Options{Out: out, Log: &log}).layer3(); err != nil {
		t.Fatal(err)
	}
	layer3, err := parts.Sync()
	if err != nil {
		t.Fatal(err)
	}
	pinned := pins.Pins{Strata: buildinfo.Version, Sync: pins.Sync{Commit: layer3.Commit()}}
	clone := filepath.Join(out, "clone")
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("clone", "--quiet", "--branch", pinned.Branch(), filepath.Join(out, "strata-sync_"+buildinfo.Version+".bundle"), clone)
	if got := run("-C", clone, "rev-parse", "HEAD"); got != pinned.Sync.Commit || !strings.Contains(log.String(), got) {
		t.Errorf("the bundle has the commit %s, and strata.yaml pins %s; the log says %q", got, pinned.Sync.Commit, log.String())
	}
}

func TestBundlesOfOtherPlatformsAreAdopted(t *testing.T) {
	const platform = "plan9/mips"
	folder := t.TempDir()
	tool := write(t, filepath.Join(folder, "tools", "etcd"), "a program")
	tools := []prebuilt.Tool{{Name: "etcd", Version: "v1.0.0"}}
	files, err := prebuilt.Describe(filepath.Dir(tool), tools)
	if err != nil {
		t.Fatal(err)
	}
	m := prebuilt.New([]prebuilt.Group{{Name: "kubernetes", Folder: "kubernetes-0123456789abcdef", Tools: tools, Files: files}})
	m.Platform = platform
	manifest, digest, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := m.Write(&archive, func(prebuilt.Group) string { return filepath.Dir(tool) }); err != nil {
		t.Fatal(err)
	}
	name := prebuilt.FileName(buildinfo.Version, platform)
	base := strings.TrimSuffix(name, prebuilt.Extension)
	for label, test := range map[string]struct {
		archive, manifest, asked string
		want, says               string
	}{
		"a good one":                    {archive.String(), string(manifest), platform, digest, ""},
		"none":                          {"", "", "plan9/arm", "", ""},
		"one with another manifest":     {archive.String(), string(manifest) + "\n", platform, "", "its manifest has the SHA-256 digest"},
		"one without a manifest":        {archive.String(), "", platform, "", "manifest.json: no such file"},
		"one that is cut":               {archive.String()[:archive.Len()-40], string(manifest), platform, "", "it ends too early"},
		"one of a third platform":       {archive.String(), string(manifest), "plan9/arm", "", "its tools are for plan9/mips"},
		"one without bill of materials": {archive.String(), string(manifest), platform, "", "cdx.json: no such file"},
	} {
		t.Run(label, func(t *testing.T) {
			o := Options{Bundles: t.TempDir(), Out: t.TempDir(), Log: io.Discard}
			name, base := name, base
			if test.says != "" && test.asked != platform {
				name = prebuilt.FileName(buildinfo.Version, test.asked)
				base = strings.TrimSuffix(name, prebuilt.Extension)
			}
			if test.archive != "" {
				write(t, filepath.Join(o.Bundles, name), test.archive)
			}
			if test.manifest != "" {
				write(t, filepath.Join(o.Bundles, base+manifestSuffix), test.manifest)
			}
			if !strings.Contains(label, "without bill") {
				write(t, filepath.Join(o.Bundles, base+materialsSuffix), "{}")
			}
			got, err := o.adopt(test.asked)
			if got != test.want || (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("the digest is %q, %v, want %q, %q", got, err, test.want, test.says)
			}
			if adopted, err := os.ReadDir(o.Out); err != nil || test.want != "" && len(adopted) != 3 {
				t.Errorf("the release contains %v, %v", adopted, err)
			}
		})
	}
}

func TestAReleaseWithoutAKeySaysSo(t *testing.T) {
	private, err := signing.EnsureKey("the release key", filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []*signing.Key{nil, private} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "a"), "content")
		var log bytes.Buffer
		if err := (Options{Out: dir, Key: key, Log: &log}).sign(); err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadFile(filepath.Join(dir, sumsName))
		if want := "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73  a\n"; err != nil || string(list) != want {
			t.Errorf("the checksums are %q, %v", list, err)
		}
		_, err = os.Stat(filepath.Join(dir, signatureName))
		if unsigned := strings.Contains(log.String(), "UNSIGNED: this release has no signature"); unsigned != (key == nil) || (err == nil) != (key != nil) {
			t.Errorf("with the key %v, the log is %q, and the signature: %v", key != nil, log.String(), err)
		}
	}
}
