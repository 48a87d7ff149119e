package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/local/machine/doctor"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/internal/toolchain/prebuilt"
	"github.com/strata-platform/strata/test/long"
)

// TestAMachineWithoutGoRunsARelease builds a release from two clones of one commit, which must give the same files. On a machine
// without Go and a cache, the release says what is missing, fetches its tools, and then takes a new user through
// docs/organisation.md.
func TestAMachineWithoutGoRunsARelease(t *testing.T) {
	long.Test(t)
	if testing.Short() {
		t.Skip("needs the toolchain")
	}
	build(t)
	ensureTools(t)
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "another-folder")
	if err := cloneTo(one); err != nil {
		t.Fatal(err)
	}
	mustRun(t, exec.CommandContext(t.Context(), "git", "clone", "--quiet", one, two))
	dist := release(t, one)
	if again := release(t, two); !bytes.Equal(contentOf(t, dist, "SHA256SUMS"), contentOf(t, again, "SHA256SUMS")) {
		t.Errorf("the files of one commit differ:\n%s\n%s", contentOf(t, dist, "SHA256SUMS"), contentOf(t, again, "SHA256SUMS"))
	} else if err := os.RemoveAll(again); err != nil {
		t.Error(err)
	}
	checkSums(t, dist)

	m := withoutGo(t, dir, one, dist)
	m.checkVersion(t)
	if out, err := m.command(t, "up").CombinedOutput(); err == nil || !strings.Contains(string(out), "no Go on PATH") || !strings.Contains(string(out), "`strata toolchain fetch`") {
		t.Errorf("without tools, up says %v: %s", err, out)
	}
	if report := m.doctor(t); report.OK {
		t.Errorf("without tools, doctor says %+v", report)
	}
	mustRun(t, m.command(t, "toolchain", "fetch", dist))
	if report := m.doctor(t); !slices.ContainsFunc(report.Findings, func(f doctor.Finding) bool { return f.Check == "go" && f.Level == doctor.Note }) {
		t.Errorf("with the tools, doctor says %+v", report)
	}
	var list []toolchain.Status
	if err := json.Unmarshal(mustRun(t, m.command(t, "toolchain", "list", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	for _, tool := range list {
		if tool.State != toolchain.Ready || !strings.HasPrefix(tool.Path, m.dir) {
			t.Errorf("%+v was not fetched", tool)
		}
	}
	m.walk(t, newer(t, two))
}

// release builds a release for this platform in a clone, and returns its folder.
func release(t *testing.T, clone string) string {
	t.Helper()
	dist := filepath.Join(clone, "dist")
	command := exec.CommandContext(t.Context(), "go", "run", "./cmd/release", "-out", dist, "-platforms", prebuilt.ThisPlatform())
	command.Dir = clone
	if out := mustRun(t, command); !strings.Contains(string(out), "UNSIGNED") {
		t.Errorf("the release does not say that it is not signed:\n%s", out)
	}
	return dist
}

// checkSums fails the test unless the checksums of a release cover every file.
func checkSums(t *testing.T, dist string) {
	t.Helper()
	entries, err := os.ReadDir(dist)
	if err != nil {
		t.Fatal(err)
	}
	plugin := "pulumi-resource-strata-" + buildinfo.Version + "-" + runtime.GOOS + "-" + runtime.GOARCH
	contentOf(t, dist, plugin+".tar.gz")
	list := string(contentOf(t, dist, "SHA256SUMS"))
	for _, entry := range entries {
		sum := sha256.Sum256(contentOf(t, dist, entry.Name()))
		if line := hex.EncodeToString(sum[:]) + "  " + entry.Name() + "\n"; entry.Name() != "SHA256SUMS" && !strings.Contains(list, line) {
			t.Errorf("SHA256SUMS does not contain %s", line)
		}
	}
	// The archive of the command and of the plugin, each with its components; the tools with theirs and their manifest; the bundle
	// of layer 3; and the checksums.
	if len(entries) != 9 {
		t.Errorf("the release contains %v", entries)
	}
}

// A bareMachine has the command of a release, and no Go, no tools and no home.
type bareMachine struct {
	dir, clone, dist string
	env              []string
}

// withoutGo unpacks the command of a release. Its PATH contains every command of this machine except Go's.
func withoutGo(t *testing.T, dir, clone, dist string) bareMachine {
	t.Helper()
	m := bareMachine{dir: filepath.Join(dir, "machine"), clone: clone, dist: dist}
	path := filepath.Join(m.dir, "path")
	for _, folder := range []string{path, filepath.Join(m.dir, "bin"), filepath.Join(m.dir, "tmp")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		entries, _ := os.ReadDir(folder)
		for _, entry := range entries {
			if name := entry.Name(); name != "go" && name != "gofmt" {
				_ = os.Symlink(filepath.Join(folder, name), filepath.Join(path, name)) // The first folder wins.
			}
		}
	}
	archive := filepath.Join(dist, "strata_"+buildinfo.Version+"_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz")
	mustRun(t, exec.CommandContext(t.Context(), "tar", "-xzf", archive, "-C", filepath.Join(m.dir, "bin")))
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); !strings.HasPrefix(name, "GO") && !strings.HasPrefix(name, "STRATA_") {
			m.env = append(m.env, variable)
		}
	}
	m.env = append(m.env, "PATH="+path, "HOME="+m.dir, "XDG_CACHE_HOME="+filepath.Join(m.dir, "cache"), "TMPDIR="+filepath.Join(m.dir, "tmp"),
		"STRATA_HOME="+filepath.Join(m.dir, "home"), "GIT_CONFIG_GLOBAL="+os.DevNull)
	t.Cleanup(func() {
		// A test that failed midway leaves its platform running. The context of the test has ended.
		stop := exec.Command(filepath.Join(m.dir, "bin", "strata"), "local", "stop")
		stop.Dir, stop.Env = m.clone, m.env
		if out, err := stop.CombinedOutput(); err != nil {
			t.Errorf("stop the platform: %v: %s", err, out)
		}
	})
	return m
}

func (m bareMachine) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(m.dir, "bin", "strata"), args...)
	command.Dir, command.Env = m.clone, m.env
	return command
}

// checkVersion fails the test unless the command of the release names its commit and its bundle.
func (m bareMachine) checkVersion(t *testing.T) {
	t.Helper()
	var version struct {
		Version, Commit, Bundle string
		Modified                bool
		Tools                   []toolchain.Pin
	}
	if err := json.Unmarshal(mustRun(t, m.command(t, "version", "-o", "json")), &version); err != nil {
		t.Fatal(err)
	}
	head := strings.TrimSpace(string(mustRun(t, exec.CommandContext(t.Context(), "git", "-C", m.clone, "rev-parse", "HEAD"))))
	manifest := strings.TrimSuffix(prebuilt.FileName(buildinfo.Version, prebuilt.ThisPlatform()), prebuilt.Extension) + ".manifest.json"
	sum := sha256.Sum256(contentOf(t, m.dist, manifest))
	if version.Version != buildinfo.Version || version.Commit != head || version.Modified || version.Bundle != hex.EncodeToString(sum[:]) || len(version.Tools) == 0 {
		t.Errorf("the version is %+v, want commit %s and bundle %x", version, head, sum)
	}
}

func (m bareMachine) doctor(t *testing.T) doctor.Report {
	t.Helper()
	out, _ := m.command(t, "doctor", "-o", "json").Output() // fails if a requirement is missing
	var report doctor.Report
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	return report
}

// mustRun runs a command and returns its standard output. A failure ends the test.
func mustRun(t *testing.T, command *exec.Cmd) []byte {
	t.Helper()
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(command.Args, " "), err, out, stderr.String())
	}
	return out
}

func contentOf(t *testing.T, dir, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
