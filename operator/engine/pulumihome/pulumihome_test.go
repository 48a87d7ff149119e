package pulumihome_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/strata-platform/strata/operator/engine/pulumihome"
)

func TestAHomeHasNoLogs(t *testing.T) {
	for name, prepare := range map[string]func(home string) error{
		"new home":                   func(string) error { return nil },
		"home of an earlier version": func(home string) error { return write(filepath.Join(home, "logs", "up.log")) },
		"home that has no logs":      pulumihome.WithoutLogs,
		"home with a link for a folder": func(home string) error {
			if err := os.MkdirAll(home, 0o700); err != nil {
				return err
			}
			return os.Symlink(filepath.Dir(home), filepath.Join(home, "logs"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := filepath.Join(t.TempDir(), "home")
			kept := filepath.Join(home, "workspaces", "one.json")
			if err := prepare(home); err != nil {
				t.Fatal(err)
			}
			if err := write(kept); err != nil {
				t.Fatal(err)
			}
			if err := pulumihome.WithoutLogs(home); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Lstat(filepath.Join(home, "logs")); err != nil || !info.Mode().IsRegular() {
				t.Errorf("logs is not a file: %v, %v", info, err)
			}
			if _, err := os.Stat(kept); err != nil {
				t.Errorf("another file is gone: %v", err)
			}
		})
	}
}

func write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o600)
}
