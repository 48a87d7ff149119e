package parts

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGitClonesTheBundle checks the commit, the files and the objects that git finds in the bundle.
func TestGitClonesTheBundle(t *testing.T) {
	tree, err := Sync()
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := tree.WriteBundle(out, "sync/v1.2.3"); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two bundles of the same files differ")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "bundle")
	if err := os.WriteFile(file, first.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(in string, args ...string) string {
		t.Helper()
		out, err := git(t.Context(), in, args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	run(dir, "clone", "--quiet", "--branch", "sync/v1.2.3", file, "clone")
	clone := filepath.Join(dir, "clone")
	if head := run(clone, "rev-parse", "HEAD"); head != tree.Commit() {
		t.Errorf("the commit is %s, want %s", head, tree.Commit())
	}
	run(clone, "fsck", "--strict")
	if names := strings.Fields(run(clone, "ls-files")); len(names) != len(tree.files) {
		t.Errorf("the clone has %d files, want %d", len(names), len(tree.files))
	}
	for name, want := range tree.files {
		if got, err := os.ReadFile(filepath.Join(clone, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs (%v)", name, err)
		}
	}
}

// TestLargeFilesAreInTheBundle has sizes at which the number of bytes of the size changes.
func TestLargeFilesAreInTheBundle(t *testing.T) {
	for _, size := range []int{0, 15, 16, 1<<11 - 1, 1 << 11, 1<<18 - 1, 1 << 18} {
		tree := newTree(map[string][]byte{"a": bytes.Repeat([]byte("x"), size), "b/c": bytes.Repeat([]byte("x"), size), "b.d": nil})
		dir := t.TempDir()
		var out bytes.Buffer
		if err := tree.WriteBundle(&out, "main"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "bundle"), out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := git(t.Context(), dir, "clone", "--quiet", "--branch", "main", "bundle", "clone"); err != nil {
			t.Errorf("%d bytes: %v", size, err)
			continue
		}
		if head, err := git(t.Context(), filepath.Join(dir, "clone"), "rev-parse", "HEAD"); err != nil || head != tree.Commit() {
			t.Errorf("%d bytes: the commit is %s (%v), want %s", size, head, err, tree.Commit())
		}
	}
}

func TestAMirrorGetsTheBranchAndKeepsAnother(t *testing.T) {
	mirror := t.TempDir()
	if _, err := git(t.Context(), mirror, "init", "--quiet", "--bare"); err != nil {
		t.Fatal(err)
	}
	const branch = "sync/v1.2.3"
	first, other := newTree(map[string][]byte{"a": []byte("1")}), newTree(map[string][]byte{"a": []byte("2")})
	for range 2 {
		if err := first.Push(t.Context(), mirror, branch); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Push(t.Context(), mirror, branch); err == nil || !strings.Contains(err.Error(), "has another commit than "+other.Commit()) {
		t.Errorf("a push of another commit: %v", err)
	}
	if at, err := git(t.Context(), mirror, "rev-parse", "refs/heads/"+branch); err != nil || at != first.Commit() {
		t.Errorf("the branch is at %s (%v), want %s", at, err, first.Commit())
	}
	if err := first.Push(t.Context(), filepath.Join(mirror, "missing"), branch); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("a push to a missing repository: %v", err)
	}
}
