package cataloguecmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnOrderIsCommitted(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte("resources:\n  - app.yaml\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "--quiet"}, {"config", "user.name", "Ada"}, {"config", "user.email", "ada@example.com"}, {"add", "--all"}, {"commit", "--quiet", "--message=begin"},
	} {
		command := exec.Command("git", args...)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	out, err := run(t, t.TempDir(), offered, "order", "Database", "orders", "--commit", dir)
	if err != nil || !strings.HasPrefix(out, "committed orders-database.yaml and kustomization.yaml as ") {
		t.Fatalf("error %v, output %s", err, out)
	}
	for name, want := range map[string]string{"orders-database.yaml": "kind: Database\nmetadata:\n  name: orders\n", "kustomization.yaml": "  - app.yaml\n  - orders-database.yaml\n"} {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(content), want) {
			t.Errorf("%s contains %q (%v)", name, content, err)
		}
	}
	if _, err := run(t, t.TempDir(), offered, "order", "Database", "orders", "--commit", dir); err == nil || !strings.Contains(err.Error(), "contain the file already") {
		t.Errorf("error %v for a second order of the name", err)
	}
}
