package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/strata-platform/strata/internal/atomicfile"
)

func TestReplaceKeepsTheLinkAndTheMode(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "shared", "go.mod"), filepath.Join(dir, "go.mod")
	if err := errors.Join(os.Mkdir(filepath.Dir(target), 0o700), os.WriteFile(target, []byte("old"), 0o640), os.Chmod(target, 0o640), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Replace(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != target {
		t.Errorf("the link leads to %q (error %v)", to, err)
	}
	content, err := os.ReadFile(target)
	if err != nil || string(content) != "new" {
		t.Errorf("the file has %q (error %v)", content, err)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v (error %v), want 0640", info, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "shared", ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (error %v)", left, err)
	}
}

func TestReplaceCreatesNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.yaml")
	if err := atomicfile.Replace(path, []byte("new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want that the file does not exist", err)
	}
}
