package publish

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// gitIn returns a function that runs git in a folder, without the user's settings.
func gitIn(t *testing.T, dir string) func(args ...string) string {
	return func(args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
}

// TestACommitIsAttestedOnlyIfItContainsThePackedFiles changes a repository, and hides some of the changes from `git status`.
func TestACommitIsAttestedOnlyIfItContainsThePackedFiles(t *testing.T) {
	type repository struct {
		dir string
		git func(args ...string) string
	}
	write := func(r repository, name, content string) {
		t.Helper()
		path := filepath.Join(r.dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(r repository, name string) {
		t.Helper()
		if err := os.Remove(filepath.Join(r.dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		change  func(r repository)
		folders []string
		// says is the reason without a commit; empty means that the commit is attested.
		says string
	}{
		"the files of the commit":     {func(repository) {}, nil, ""},
		"a changed file":              {func(r repository) { write(r, "deploy/a.yaml", "2") }, nil, `has another content of "deploy/a.yaml"`},
		"a changed and added file":    {func(r repository) { write(r, "deploy/a.yaml", "2"); r.git("add", ".") }, nil, `has another content of "deploy/a.yaml"`},
		"a new file":                  {func(r repository) { write(r, "b.yaml", "") }, nil, `does not contain "b.yaml"`},
		"a deleted file":              {func(r repository) { remove(r, "deploy/a.yaml") }, nil, `also contains "deploy/a.yaml"`},
		"an ignored file":             {func(r repository) { write(r, "c.ignored", "") }, nil, `does not contain "c.ignored"`},
		"an ignored file elsewhere":   {func(r repository) { write(r, "c.ignored", "") }, []string{"deploy"}, ""},
		"a file that Flux leaves out": {func(r repository) { write(r, "new.txt", ""); remove(r, "old.txt") }, nil, ""},
		"another .sourceignore":       {func(r repository) { write(r, ".sourceignore", "*.txt\nb.yaml\n") }, []string{"deploy", "more"}, `has another content of ".sourceignore"`},
		"a hidden .sourceignore":      {func(r repository) { write(r, "deploy/.sourceignore", "a.yaml\n.sourceignore\n") }, []string{"deploy", "more"}, `does not contain "deploy/.sourceignore"`},
		"a file marked as unchanged": {func(r repository) {
			r.git("update-index", "--assume-unchanged", "deploy/a.yaml")
			write(r, "deploy/a.yaml", "2")
		}, nil, `has another content of "deploy/a.yaml"`},
		"a file outside of a checkout": {func(r repository) {
			r.git("update-index", "--skip-worktree", "deploy/a.yaml")
			write(r, "deploy/a.yaml", "2")
		}, nil, `has another content of "deploy/a.yaml"`},
		"a replaced object": {func(r repository) {
			write(r, "deploy/a.yaml", "2")
			r.git("commit", "--quiet", "--all", "--message=y")
			other := r.git("rev-parse", "HEAD")
			r.git("reset", "--quiet", "--hard", "HEAD~")
			r.git("replace", "HEAD", other)
			write(r, "deploy/a.yaml", "2")
			r.git("add", ".")
			if r.git("status", "--porcelain", "deploy") != "" {
				t.Error("git status sees the replacement, so the test tries nothing")
			}
		}, nil, `has another content of "deploy/a.yaml"`},
		"a filter": {func(r repository) {
			r.git("config", "filter.upper.clean", "touch "+filepath.Join(r.dir, "ran")+"; echo -n 1")
			r.git("config", "filter.upper.smudge", "cat")
			write(r, ".git/info/attributes", "*.yaml filter=upper\n")
			write(r, "deploy/a.yaml", "2")
		}, nil, `has another content of "deploy/a.yaml"`},
		"a file in place of a link": {func(r repository) {
			if err := os.Symlink("target", filepath.Join(r.dir, "link")); err != nil {
				t.Fatal(err)
			}
			r.git("add", ".")
			r.git("commit", "--quiet", "--message=link")
			remove(r, "link")
			write(r, "link", "target")
		}, nil, `has another content of "link"`},
		"a repository without a commit": {func(r repository) { r.git("update-ref", "-d", "HEAD") }, nil, "git rev-parse: fatal: Needed a single revision"},
		"no repository": {func(r repository) {
			if err := os.RemoveAll(filepath.Join(r.dir, ".git")); err != nil {
				t.Fatal(err)
			}
		}, nil, "not a git repository"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, map[string]string{
				"deploy/a.yaml": "1", "more/b.yaml": "1", ".gitignore": "*.ignored\n", ".sourceignore": "*.txt\n", "old.txt": "",
			})
			r := repository{dir, gitIn(t, dir)}
			r.git("init", "--quiet")
			r.git("add", ".")
			r.git("commit", "--quiet", "--message=x")
			test.change(r)
			folders := test.folders
			if folders == nil {
				folders = []string{"."}
			}
			files, err := read(dir, folders)
			if err != nil {
				t.Fatal(err)
			}
			got := originOf(t.Context(), dir, files)
			if (got.Commit == "") != (test.says != "") || !strings.Contains(got.Reason, test.says) || strings.Contains(got.Reason, "\n") {
				t.Errorf("the origin is %+v, want the reason %q", got, test.says)
			}
			statement, err := json.Marshal(provenance("1.0.0", got))
			if err != nil {
				t.Fatal(err)
			}
			if says := strings.Contains(string(statement), "files that no commit attests"); says != (test.says != "") {
				t.Errorf("the provenance is %s", statement)
			}
			if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
				t.Error("git has run a program of the repository's configuration")
			}
		})
	}
}
