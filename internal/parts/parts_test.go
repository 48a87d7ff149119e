package parts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

func TestGitComputesTheSameCommit(t *testing.T) {
	sync, err := Sync()
	if err != nil {
		t.Fatal(err)
	}
	for name, tree := range map[string]Tree{
		"layer 3":                   sync,
		"a folder between files":    newTree(map[string][]byte{"a-b": []byte("1"), "a/c/d": []byte("2"), "a.b": nil, "a0": []byte("3")}),
		"the same content is equal": newTree(map[string][]byte{"x": []byte("1"), "y/x": []byte("1")}),
	} {
		dir := t.TempDir()
		if err := tree.CommitIn(t.Context(), dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAChangedManifestHasAnotherCommit(t *testing.T) {
	sync, err := Sync()
	if err != nil {
		t.Fatal(err)
	}
	const name = "sync/policies/stacks.yaml"
	content := append([]byte(nil), sync.files[name]...)
	sync.files[name] = append(content, '\n')
	if newTree(sync.files).Commit() == sync.Commit() {
		t.Error("the commit does not depend on " + name)
	}
}

// TestThisProgramContainsEveryManifest compares the parts with the files of the clone.
func TestThisProgramContainsEveryManifest(t *testing.T) {
	root := toolchaintest.Root(t)
	sync, err := Sync()
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	files, err := git(t.Context(), root, "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "sync", "operator/config", "catalogue")
	if err != nil {
		t.Fatal(err)
	}
	for file := range strings.FieldsSeq(files) {
		want, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) || strings.HasSuffix(file, ".go") {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		listed++
		if got, ok := sync.files[file]; !ok || string(got) != string(want) {
			t.Errorf("this program lacks %s: add it to //go:embed in sync/embed.go, operator/config/embed.go or catalogue/catalogue.go", file)
		}
	}
	if listed != len(sync.files) || listed < 10 {
		t.Errorf("this program contains %d manifests, and the clone %d", len(sync.files), listed)
	}
}
