package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/test/docstest"
)

const (
	organisationPage = "docs/organisation.md"
	newcomerScript   = "testdata/release/newcomer.txtar"

	// newerVersion is the version of the changed Strata that the page updates to.
	newerVersion = "v0.2.0"
)

// walkBlock returns the commands of a block of docs/organisation.md, and the output below it, or nil.
func walkBlock(t testing.TB, name string) (commands docstest.Block, shown *docstest.Block) {
	t.Helper()
	blocks := docstest.Blocks(t, organisationPage)
	for i, block := range blocks {
		if kind, rest, _ := strings.Cut(block.Name, " "); block.Language != "sh" || kind != "walk" || strings.Fields(rest)[0] != name {
			continue
		}
		if i+1 < len(blocks) && blocks[i+1].Language == "text" {
			shown = &blocks[i+1]
		}
		return block, shown
	}
	t.Fatalf("%s has no block %q", organisationPage, name)
	return commands, nil
}

// TestTheNewcomerWalksThroughTheWholePage compares the blocks of the page with those that the script walks, in their order.
func TestTheNewcomerWalksThroughTheWholePage(t *testing.T) {
	var page, walked []string
	for _, block := range docstest.Blocks(t, organisationPage) {
		if block.Language == "sh" {
			page = append(page, strings.Fields(strings.TrimPrefix(block.Name, "walk "))[0])
		} else if block.Language != "text" {
			t.Errorf("%s:%d: a block of %q is neither commands nor their output", organisationPage, block.Line, block.Language)
		}
	}
	content, err := os.ReadFile(newcomerScript)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if name, ok := strings.CutPrefix(line, "walk "); ok {
			walked = append(walked, strings.TrimSpace(name))
		}
	}
	if !slices.Equal(page, walked) || len(page) == 0 {
		t.Errorf("the blocks of %s are %v, and the script walks %v", organisationPage, page, walked)
	}
}

// newer builds the command of a changed Strata in a clone, and returns a folder with its archive: another version, whose
// operator has that version, and whose entry database gives one more result.
func newer(t *testing.T, clone string) string {
	t.Helper()
	for _, change := range []struct{ file, old, new string }{
		{"internal/buildinfo/buildinfo.go", `"` + buildinfo.Version + `"`, `"` + newerVersion + `"`},
		{"operator/config/manager/deployment.yaml", "operator:" + buildinfo.Version, "operator:" + newerVersion},
		{"catalogue/database/program.yaml", "\n  outputs:\n", "\n  outputs:\n    strata: " + newerVersion + "\n"},
		{"catalogue/database/entry.yaml", "\n    database: ", "\n    strata: The version of Strata.\n    database: "},
	} {
		content := string(contentOf(t, clone, change.file))
		changed := strings.Replace(content, change.old, change.new, 1)
		if changed == content {
			t.Fatalf("%s does not contain %q", change.file, change.old)
		}
		if err := os.WriteFile(filepath.Join(clone, change.file), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", "bin/strata", "./cmd/strata")
	build.Dir = clone
	mustRun(t, build)
	dir := filepath.Join(clone, "newer")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	archive := "strata_" + newerVersion + "_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	mustRun(t, exec.CommandContext(t.Context(), "tar", "-czf", filepath.Join(dir, archive), "-C", filepath.Join(clone, "bin"), "strata"))
	return dir
}

// sessionKey is the key of the script's shell.
type sessionKey struct{}

// walk runs the newcomer's script on the machine, with the release and the folder of the newer one in an otherwise empty folder,
// a cache without tools and the name of the user in Git's configuration.
func (m bareMachine) walk(t *testing.T, newer string) {
	t.Helper()
	scripts := params("")
	scripts.Files = []string{newcomerScript}
	scripts.Cmds["walk"] = walk(t)
	scripts.Setup = func(env *testscript.Env) error {
		you, user := filepath.Join(env.WorkDir, "you"), filepath.Join(env.WorkDir, "user")
		for _, dir := range []string{you, user} {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		kubectl := filepath.Join(m.dir, "path", "kubectl")
		_ = os.Remove(kubectl) // The machine may have one.
		for link, target := range map[string]string{filepath.Join(you, "release"): m.dist, filepath.Join(you, "newer"): newer, kubectl: self} {
			if err := os.Symlink(target, link); err != nil {
				return err
			}
		}
		gitConfig := filepath.Join(user, ".gitconfig")
		if err := os.WriteFile(gitConfig, []byte("[user]\n\tname = Ada\n\temail = ada@example.com\n"), 0o600); err != nil {
			return err
		}
		for _, variable := range m.env {
			name, value, _ := strings.Cut(variable, "=")
			if name != "STRATA_HOME" {
				env.Setenv(name, value)
			}
		}
		env.Setenv("HOME", user)
		env.Setenv("XDG_CACHE_HOME", filepath.Join(user, "cache"))
		env.Setenv("GIT_CONFIG_GLOBAL", gitConfig)
		env.Setenv("GIT_TERMINAL_PROMPT", "0")
		env.Setenv("YOU", you)
		env.Setenv("SOURCE", root)
		env.Values[sessionKey{}] = docstest.NewSession(t, you, slices.Clone(env.Vars))
		env.Defer(func() {
			// A script that failed midway leaves its platform running.
			stop := exec.Command(filepath.Join(you, "bin", "strata"), "local", "stop")
			stop.Dir, stop.Env = filepath.Join(you, "platform"), env.Vars
			_ = stop.Run()
		})
		return nil
	}
	testscript.RunT(script{T: t, sequential: true}, scripts)
}

// walk: walk BLOCK — runs a block of docs/organisation.md literally, in one shell for all blocks, and compares the output with
// the one on the page. Every command of a block must succeed, unless the page says "exits 1".
func walk(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		block, shown := walkBlock(t, args[0])
		fails := strings.HasSuffix(block.Name, " exits 1")
		commands := strings.ReplaceAll(block.Text, "linux_amd64", runtime.GOOS+"_"+runtime.GOARCH)
		before, want := "set -e\n", 0
		if fails {
			before, want = "set +e\n", 1
		}
		printed, code, err := ts.Value(sessionKey{}).(*docstest.Session).Run(before + commands)
		ts.Logf("$ %s%s", commands, printed)
		if err != nil || code != want {
			ts.Fatalf("%s:%d: the commands end with %d, error %v", organisationPage, block.Line, code, err)
		}
		// Git pads the lines of a server's answer with spaces.
		var trimmed strings.Builder
		for line := range strings.Lines(printed) {
			trimmed.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
		if shown != nil && !tourOutputs.Same(shown.Text, trimmed.String()) {
			ts.Fatalf("%s:%d: the output should be:\n%s", organisationPage, shown.Line, shown.Text)
		}
		_, err = fmt.Fprint(ts.Stdout(), printed)
		ts.Check(err)
	}
}
