package gittree_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/gittree"
)

// repository is a Git repository of a test.
type repository string

func (r repository) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = string(r)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	return command
}

func (r repository) git(t *testing.T, input string, args ...string) string {
	t.Helper()
	command := r.command(t.Context(), args...)
	command.Stdin = strings.NewReader(input)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("git %s: %v", args[0], err)
	}
	return strings.TrimSpace(string(out))
}

func open(t *testing.T, files int) (repository, *gittree.Objects) {
	t.Helper()
	r := repository(t.TempDir())
	r.git(t, "", "init", "--quiet")
	objects, err := gittree.Open(t.Context(), r.command, files)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(objects.Close)
	return r, objects
}

func TestACommitIsAFileSystem(t *testing.T) {
	r, objects := open(t, 100)
	for name, content := range map[string]string{"a.yaml": "a", "deep/er/b.yaml": "bb"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(string(r), name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(string(r), name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(string(r), "link")); err != nil {
		t.Fatal(err)
	}
	r.git(t, "", "add", ".")
	r.git(t, "", "commit", "--quiet", "--message=x")
	r.git(t, "", "tag", "--annotate", "--message=x", "v1")
	tree, err := objects.TreeOf(r.git(t, "", "rev-parse", "v1"))
	if err != nil || tree != r.git(t, "", "rev-parse", "HEAD^{tree}") {
		t.Fatalf("the tree is %q: %v", tree, err)
	}
	files := objects.FS(tree)
	var names []string
	err = fs.WalkDir(files, ".", func(name string, _ fs.DirEntry, err error) error {
		names = append(names, name)
		return err
	})
	if content, readErr := fs.ReadFile(files, "deep/er/b.yaml"); err != nil || readErr != nil || string(content) != "bb" || strings.Join(names, " ") != ". a.yaml deep deep/er deep/er/b.yaml link" {
		t.Errorf("the files are %q, one contains %q: %v, %v", names, content, err, readErr)
	}
	if content, err := fs.ReadFile(files, "link/passwd"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link is followed to %q, %v", content, err)
	}
	if total, err := objects.Total(tree); err != nil || total.Bytes != 7 || total.Largest != 4 {
		t.Errorf("the total is %+v, %v", total, err)
	}
	if id, err := objects.ID(tree, "a.yaml"); err != nil || id != r.git(t, "", "rev-parse", "HEAD:a.yaml") {
		t.Errorf("the ID is %q, %v", id, err)
	}
	for _, none := range []string{r.git(t, "", "rev-parse", "HEAD:a.yaml"), strings.Repeat("0", 40)} {
		if tree, err := objects.TreeOf(none); err != nil || tree != "" {
			t.Errorf("the tree of %s is %q, %v", none, tree, err)
		}
	}
}

// TestTreesThatUnpackToAnySizeAreBounded has trees that contain the next one ten times, and trees nested deeply.
func TestTreesThatUnpackToAnySizeAreBounded(t *testing.T) {
	r, objects := open(t, 1000)
	blob := r.git(t, "x", "hash-object", "-w", "--stdin")
	tree := r.git(t, "100644 blob "+blob+"\ta\n", "mktree")
	for range 12 {
		var entries strings.Builder
		for _, name := range "abcdefghij" {
			entries.WriteString("040000 tree " + tree + "\t" + string(name) + "\n")
		}
		tree = r.git(t, entries.String(), "mktree")
	}
	if total, err := objects.Total(tree); err != nil || total.Files <= 1000 {
		t.Errorf("the total is %+v, %v", total, err)
	}
	for range 120 {
		tree = r.git(t, "040000 tree "+tree+"\ta\n", "mktree")
	}
	var limit *gittree.LimitError
	if _, err := objects.Total(tree); !errors.As(err, &limit) {
		t.Errorf("the error is %v", err)
	}
}
