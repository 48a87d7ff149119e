package teamfiles

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clone returns a repository with a kustomization.yaml and an uncommitted change of another file.
func clone(t *testing.T, list string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{listFile: list, "app.yaml": "a: 1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"init", "--quiet"}, {"config", "user.name", "Ada"}, {"config", "user.email", "ada@example.com"}, {"add", "--all"}, {"commit", "--quiet", "--message=begin"},
	} {
		run(t, dir, args...)
	}
	if err := os.WriteFile(filepath.Join(dir, "app.yaml"), []byte("a: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "add", "app.yaml")
	return dir
}

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.Command("git", args...)
	command.Dir = dir
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestCommitContainsTheFileAndItsEntryOnly(t *testing.T) {
	for before, after := range map[string]string{
		"# all\nresources:\n  - app.yaml # the application\nlabels: []\n": "# all\nresources:\n  - app.yaml # the application\n  - orders.yaml\nlabels: []\n",
		"resources:\n- app.yaml": "resources:\n- app.yaml\n- orders.yaml\n",
	} {
		dir := clone(t, before)
		commit, err := Commit(t.Context(), dir, "orders.yaml", []byte("kind: Database\n"), "Order database orders")
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, dir, listFile); got != after {
			t.Errorf("the list is %q, want %q", got, after)
		}
		if got := run(t, dir, "show", "--name-only", "--format=%H %s", "HEAD"); got != commit+" Order database orders\n\n"+listFile+"\norders.yaml" {
			t.Errorf("the commit is %q", got)
		}
		if got := run(t, dir, "status", "--porcelain"); got != "M  app.yaml" {
			t.Errorf("the status is %q: the user's own change must stay", got)
		}
	}
}

func TestCommitChangesNothingIf(t *testing.T) {
	const list = "resources:\n  - app.yaml\n"
	for name, c := range map[string]struct {
		list, want string
		spoil      func(t *testing.T, dir string)
	}{
		"the file exists": {list, "file exists", func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "orders.yaml"), []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		"a link takes the place of the file": {list, "file exists", func(t *testing.T, dir string) {
			if err := os.Symlink("app.yaml", filepath.Join(dir, "orders.yaml")); err != nil {
				t.Fatal(err)
			}
		}},
		"the list is a link": {list, "is a link", func(t *testing.T, dir string) {
			if err := os.Rename(filepath.Join(dir, listFile), filepath.Join(dir, "other.yaml")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("other.yaml", filepath.Join(dir, listFile)); err != nil {
				t.Fatal(err)
			}
		}},
		"the list contains the file":      {list + "  - orders.yaml\n", "contain the file already", nil},
		"the list is written in one line": {"resources: [app.yaml]\n", "by hand", nil},
		"the list has no resources":       {"labels: []\n", "by hand", nil},
		"the list is not YAML":            {"resources: [", "did not find", nil},
		"the list is changed": {list, "not committed", func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, listFile), []byte(list+"# mine\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		"a hook refuses the commit": {list, "no orders today", func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, ".git", "hooks", "pre-commit"), []byte("#!/bin/sh\necho no orders today >&2\nexit 1\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := clone(t, c.list)
			if c.spoil != nil {
				c.spoil(t, dir)
			}
			status, before := run(t, dir, "status", "--porcelain"), read(t, dir, listFile)
			if _, err := Commit(t.Context(), dir, "orders.yaml", []byte("x"), "Order"); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, c.want)
			}
			if got := run(t, dir, "status", "--porcelain"); got != status || read(t, dir, listFile) != before {
				t.Errorf("the status is %q, and was %q", got, status)
			}
		})
	}
	if _, err := Commit(t.Context(), t.TempDir(), "orders.yaml", nil, "Order"); err == nil || !strings.Contains(err.Error(), "give the folder") {
		t.Errorf("error %v for a folder without a list", err)
	}
}
