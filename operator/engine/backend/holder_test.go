package backend

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestSearchOfOtherTeamsStatesIsBounded(t *testing.T) {
	const kind, id = "gcp:storage/bucket:Bucket", "shop"
	state := []byte(`{"checkpoint": {"latest": {"resources": [{"urn": "u", "type": "` + kind + `", "id": "` + id + `"}]}}}`)
	stacks := func(dir string) string { return filepath.Join(dir, ".pulumi", "stacks", "shop") }
	for name, c := range map[string]struct {
		attack func(dir, own string) error
		held   bool
	}{
		"nothing": {func(dir, _ string) error { return os.WriteFile(filepath.Join(dir, "a.json"), state, 0o600) }, true},
		"a compressed state": {func(dir, _ string) error {
			var packed bytes.Buffer
			writer := gzip.NewWriter(&packed)
			_, err := writer.Write(state)
			return errors.Join(err, writer.Close(), os.WriteFile(filepath.Join(dir, "a.json.gz"), packed.Bytes(), 0o600))
		}, true},
		"a pipe":        {func(dir, _ string) error { return syscall.Mkfifo(filepath.Join(dir, "a.json"), 0o600) }, false},
		"a sparse file": {func(dir, _ string) error { return os.WriteFile(filepath.Join(dir, "a.json"), nil, 0o600) }, false},
		"deep nesting": {func(dir, _ string) error {
			return os.WriteFile(filepath.Join(dir, "a.json"), []byte(strings.Repeat("[", 1<<20)), 0o600)
		}, false},
		"a link to another": {func(dir, own string) error { return os.Symlink(own, filepath.Join(dir, "a.json")) }, false},
		"a link to itself":  {func(dir, _ string) error { return os.Symlink(".", filepath.Join(dir, "loop")) }, false},
		"a link of folders": {func(dir, own string) error { return os.Symlink(filepath.Dir(own), filepath.Join(dir, "x")) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			dir, own := stacks(filepath.Join(root, "team-api")), filepath.Join(stacks(filepath.Join(root, "team-web")), "dev.json")
			for _, folder := range []string{dir, filepath.Dir(own)} {
				if err := os.MkdirAll(folder, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(own, state, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := c.attack(dir, own); err != nil {
				t.Fatal(err)
			}
			if name == "a sparse file" {
				if err := os.Truncate(filepath.Join(dir, "a.json"), 1<<40); err != nil {
					t.Fatal(err)
				}
			}
			s := State{Backend: Backend{Folder: "."}, Project: "shop", Stack: "dev", Root: root, Parent: filepath.Join(root, "team-web")}
			if got := s.Holder(t.Context(), kind, id); (got != "") != c.held {
				t.Errorf("held by %q", got)
			}
		})
	}
}

func TestSearchOfATeamsStatesReadsNoMoreThanItsBudget(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "team-api", ".pulumi", "stacks", "shop")
	state := []byte(`{"checkpoint": {"latest": {"resources": [{"urn": "u", "type": "a", "id": "b"}]}}}`)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "a.json"), state, 0o600)); err != nil {
		t.Fatal(err)
	}
	s := State{Backend: Backend{Folder: "."}, Root: root}
	for budget, want := range map[int64]bool{int64(len(state)): true, int64(len(state)) - 1: false} {
		if got := s.teamHolds(t.Context(), "team-api", "", "a", "b", budget); got != want {
			t.Errorf("with %d bytes: %t, want %t", budget, got, want)
		}
	}
}
