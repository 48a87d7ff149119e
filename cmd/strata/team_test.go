package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/teamadmin"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/docstest"
)

func TestDocumentedTeams(t *testing.T) {
	docstest.CheckJSON[teamadmin.Change](t, "docs/reference/output.md", "team")
	docstest.CheckJSON[teamadmin.List](t, "docs/reference/output.md", "teams")
}

const oneTeam = "# All.\napiVersion: strata/v1\nkind: Teams\nteams:\n  - name: web # the first\n"

// newClone creates a working folder that strata treats as a clone of its repository, with a committed teams.yaml.
func newClone(t *testing.T) (dir, h string) {
	t.Helper()
	root := toolchaintest.Root(t)
	dir, h = t.TempDir(), filepath.Join(t.TempDir(), "home")
	t.Chdir(dir)
	t.Setenv("STRATA_HOME", h)
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	for _, name := range []string{"tools", "go.mod"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, "teams.yaml", oneTeam)
	git(t, "init", "--quiet")
	git(t, "config", "user.name", "Ada")
	git(t, "config", "user.email", "ada@example.com")
	git(t, "add", "teams.yaml")
	git(t, "commit", "--quiet", "--message=Begin")
	return dir, h
}

func git(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestATeamIsAddedAndRemovedWithoutAPlatform(t *testing.T) {
	_, h := newClone(t)
	if err := os.Chmod("teams.yaml", 0o640); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := call(t, "team", "add", "shop", "--allow", "gcp:sql/*,random:*", "--quota", "memory=8Gi,cpu=4", "-o", "json")
	var change teamadmin.Change
	if err := json.Unmarshal([]byte(out), &change); code != exitDone || err != nil {
		t.Fatalf("code %d, error %v, %q", code, err, stderr)
	}
	want := oneTeam + "  - name: shop\n    allow:\n      - gcp:sql/*\n      - random:*\n    quota: {cpu: \"4\", memory: 8Gi}\n"
	if got := read(t, "teams.yaml"); got != want {
		t.Errorf("teams.yaml is\n%s\nwant\n%s", got, want)
	}
	if info, err := os.Stat("teams.yaml"); err != nil || info.Mode() != 0o640 {
		t.Errorf("teams.yaml is %v, error %v, want the mode that it had", info.Mode(), err)
	}
	if change.Next != "STRATA_HOME='"+h+"' strata up" || !strings.Contains(change.Diff, "\n+  - name: shop\n") || change.Commit != "" || change.Clone != "" {
		t.Errorf("the result is %+v", change)
	}
	if code, out, stderr := call(t, "team", "list"); code != exitDone || !strings.Contains(out, "shop  unknown: nothing runs in "+h+": run `STRATA_HOME='"+h+"' strata up`\n  namespace       team-shop\n") {
		t.Errorf("list: code %d, %q, %q", code, out, stderr)
	}
	if code, _, stderr := call(t, "team", "remove", "shop"); code != exitDone {
		t.Errorf("remove: code %d, %q", code, stderr)
	}
	if got := read(t, "teams.yaml"); got != oneTeam {
		t.Errorf("after the removal teams.yaml is\n%s", got)
	}
	if _, err := os.Stat(h); err == nil {
		t.Error("the command has created a home")
	}
}

func TestACommitContainsOnlyTheTeam(t *testing.T) {
	newClone(t)
	write(t, "begun", "1\n")
	git(t, "add", "begun")
	code, out, stderr := call(t, "team", "add", "shop", "--commit")
	if commit := git(t, "rev-parse", "HEAD"); code != exitDone || !strings.Contains(out, "Committed teams.yaml as "+commit) {
		t.Fatalf("code %d, %q, %q", code, out, stderr)
	}
	if got := git(t, "show", "--format=%an: %s", "--name-status"); got != "Ada: teams: add shop\n\nM\tteams.yaml" {
		t.Errorf("the commit is %q", got)
	}
	if got := git(t, "status", "--porcelain", "--untracked-files=no"); got != "A  begun" {
		t.Errorf("the other change is %q", got)
	}
}

func TestTeamsYAMLStaysUnchangedIf(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(t *testing.T, h string)
		args    []string
		code    int
		want    string
	}{
		"the team exists": {
			args: []string{"add", "web"}, code: exitFailed, want: "team web was not added: ", // the rest comes from teams.Add
		},
		"the quota has an unknown resource": {
			args: []string{"add", "shop", "--quota", "gpu=1"}, code: exitUsage, want: `a quota has no "gpu"`,
		},
		"the commit would contain other changes": {
			prepare: func(t *testing.T, _ string) { write(t, "teams.yaml", oneTeam+"  # more to come\n") },
			args:    []string{"add", "shop", "--commit"}, code: exitFailed, want: "teams.yaml has changes that are not committed: commit them first, or leave out --commit",
		},
		"a hook rejects the commit": {
			prepare: func(t *testing.T, _ string) {
				write(t, ".git/hooks/pre-commit", "#!/bin/sh\necho not on a Sunday >&2\nexit 1\n")
				if err := os.Chmod(".git/hooks/pre-commit", 0o700); err != nil { //nolint:gosec // a hook is executed
					t.Fatal(err)
				}
			},
			args: []string{"add", "shop", "--commit"}, code: exitFailed, want: "team shop was not added: git commit --quiet --message=teams: add shop --only -- teams.yaml: exit status 1: not on a Sunday",
		},
		"the platform does not answer": {
			prepare: func(t *testing.T, h string) {
				if err := os.MkdirAll(opened(t, h).Layer(lifecycle.PlatformLayer), 0o700); err != nil {
					t.Fatal(err)
				}
			},
			args: []string{"remove", "web"}, code: exitFailed, want: "team web was not removed: cannot list the team's Stacks: nothing runs in /",
		},
		"another command is running": {
			prepare: func(t *testing.T, h string) {
				release, err := opened(t, h).AcquireChange()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(release)
			},
			args: []string{"add", "shop"}, code: exitFailed, want: "nothing was changed: wait until that command has ended",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, h := newClone(t)
			if test.prepare != nil {
				test.prepare(t, h)
			}
			before, head := read(t, "teams.yaml"), git(t, "rev-parse", "HEAD")
			code, out, stderr := call(t, append([]string{"team"}, test.args...)...)
			if code != test.code || out != "" || !strings.Contains(stderr, test.want) {
				t.Errorf("code %d, output %q, error %q, want code %d and %q", code, out, stderr, test.code, test.want)
			}
			if read(t, "teams.yaml") != before || git(t, "rev-parse", "HEAD") != head {
				t.Error("the file or the commit has changed")
			}
			if left, err := filepath.Glob(".teams.yaml-*"); err != nil || len(left) > 0 {
				t.Errorf("temporary files are left: %v, %v", left, err)
			}
		})
	}
}

func opened(t *testing.T, dir string) home.Home {
	t.Helper()
	h, err := home.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
