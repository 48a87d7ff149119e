package plugins

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPluginsAreNotUnlinkedThroughALinkOfTheRun(t *testing.T) {
	beside := t.TempDir()
	for _, folder := range []string{pluginsFolder, schemasFolder} {
		if err := os.WriteFile(filepath.Join(beside, folder), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if err := os.Symlink(beside, filepath.Join(dir, "home")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := Unlink(root, "home"); err == nil {
		t.Error("the link was followed")
	}
	if left, err := os.ReadDir(beside); err != nil || len(left) != 2 {
		t.Errorf("beside the run are %v (%v), want both files", left, err)
	}
}
