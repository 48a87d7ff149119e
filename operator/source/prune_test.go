package source_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/strata-platform/strata/operator/source"
)

// TestPruneLeavesWhatFluxPacks prunes a tree whose links and ignored files could show another program than the one that Flux delivers.
func TestPruneLeavesWhatFluxPacks(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"infra/Pulumi.yaml": "name: a", "infra/safe.yaml": "a", "infra/ignored.yaml": "a", "infra/more.yaml": "a", "infra/.sourceignore": "ignored.yaml\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Whoever follows the second link reads without end.
	for name, target := range map[string]string{"infra/Main.yaml": "safe.yaml", ".sourceignore": "/dev/zero"} {
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	if err := source.Prune(dir, "more.yaml"); err != nil {
		t.Fatal(err)
	}
	var left []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			left = append(left, name)
		}
		return err
	})
	if want := []string{"infra/.sourceignore", "infra/Pulumi.yaml", "infra/safe.yaml"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left are %q, %v, want %q", left, err, want)
	}
}
