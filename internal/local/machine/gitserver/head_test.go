package gitserver_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
)

func TestTheHeadOfABranch(t *testing.T) {
	dir := t.TempDir()
	repository := filepath.Join(dir, "web.git")
	run := func(args ...string) string {
		t.Helper()
		out, err := git(dir, append([]string{"--git-dir=" + repository}, args...)...)
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(out)
	}
	run("init", "--quiet", "--bare", "--initial-branch=main")
	tree := run("hash-object", "-t", "tree", "-w", os.DevNull)
	first := run("commit-tree", "-m", "first", tree)
	second := run("commit-tree", "-m", "second", "-p", first, tree)
	check := func(when, branch, want string) {
		t.Helper()
		got, err := gitserver.Head(dir, "web", branch)
		if got != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the head of %s is %q (error %v), want %q", when, branch, got, err, want)
		}
	}
	check("in an empty repository", "main", "")
	run("update-ref", "refs/heads/main", first)
	run("update-ref", "refs/heads/feature/main", second)
	check("after a push", "main", first)
	run("pack-refs", "--all")
	check("after git packed the references", "main", first)
	check("after git packed the references", "feature/main", second)
	check("after git packed the references", "ain", "")
	run("update-ref", "refs/heads/main", second)
	check("after a push to a packed branch", "main", second)
}
