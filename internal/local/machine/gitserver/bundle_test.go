package gitserver_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
)

func TestBundleKeepsAllReferences(t *testing.T) {
	from, to, work := t.TempDir(), t.TempDir(), t.TempDir()
	git := func(dir string, args ...string) string {
		t.Helper()
		command := exec.Command("git", args...)
		command.Dir = dir
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@a")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	git(from, "init", "--quiet", "--bare", "--initial-branch=main", "web.git")
	git(from, "init", "--quiet", "--bare", "empty.git")
	git(work, "init", "--quiet", "--initial-branch=main")
	git(work, "commit", "--quiet", "--allow-empty", "--message=first")
	git(work, "tag", "v1", "--annotate", "--message=one")
	git(work, "notes", "add", "--message=noted")
	git(work, "branch", "proposal")
	git(work, "push", "--quiet", filepath.Join(from, "web.git"), "refs/*:refs/*")

	names, err := gitserver.List(from)
	if err != nil || !slices.Equal(names, []string{"empty", "web"}) {
		t.Errorf("repositories %q, %v", names, err)
	}
	bundle := filepath.Join(t.TempDir(), "bundle")
	if ok, err := gitserver.Bundle(t.Context(), from, "empty", bundle); err != nil || ok {
		t.Errorf("a repository without references: %v, %v", ok, err)
	}
	if ok, err := gitserver.Bundle(t.Context(), from, "web", bundle); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if err := gitserver.Unbundle(t.Context(), to, "web", bundle); err != nil {
		t.Fatal(err)
	}
	want := git(filepath.Join(from, "web.git"), "show-ref", "--head")
	if got := git(filepath.Join(to, "web.git"), "show-ref", "--head"); got != want || strings.Count(want, "\n") != 5 {
		t.Errorf("the references are %q, want %q", got, want)
	}

	raw, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"truncated": raw[:len(raw)-30], "text": []byte("hello"), "empty": nil} {
		damaged := filepath.Join(t.TempDir(), "bundle")
		if err := os.WriteFile(damaged, content, 0o600); err != nil {
			t.Fatal(err)
		}
		err := gitserver.Unbundle(t.Context(), t.TempDir(), "web", damaged)
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "Git repository web") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"../web", "", "-web", "a/b"} {
		if err := gitserver.Unbundle(t.Context(), to, name, bundle); err == nil || errors.Is(err, os.ErrNotExist) {
			t.Errorf("the repository %q: %v", name, err)
		}
	}
}
