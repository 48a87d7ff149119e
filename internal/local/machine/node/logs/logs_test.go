package logs

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLogsOfDeletedPodsAreRemovedAtTheStart(t *testing.T) {
	folder := Folder(filepath.Join(t.TempDir(), "pods"))
	exists := func(namespace, pod string) bool { return namespace == "default" && pod == "one" }
	if err := folder.Prune(exists); err != nil {
		t.Errorf("before there is any log: %v", err)
	}
	kept, gone := folder.Path("default", "one", "main"), folder.Path("default", "two", "main")
	for _, path := range []string{kept, kept + ".previous", gone, gone + ".1", gone + ".previous"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := folder.Prune(exists); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(string(folder), "*"))
	if err != nil || len(left) != 2 || left[0] != kept || left[1] != kept+".previous" {
		t.Errorf("what is left are %v (%v)", left, err)
	}
}
