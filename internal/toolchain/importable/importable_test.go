package importable_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain/importable"
)

func TestAModuleWithoutAProgramIsNotLinked(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main_test.go"), []byte("package main\n\nfunc main() {\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := importable.Make(dir); err == nil || !strings.Contains(err.Error(), "contains no func main") {
		t.Errorf("got %v", err)
	}
}
