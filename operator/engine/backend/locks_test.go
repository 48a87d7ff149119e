package backend

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestDropHalfWritten(t *testing.T) {
	const half = "0.json.18a1.tmp"
	now := time.Now()
	for name, c := range map[string]struct {
		patience time.Duration
		written  time.Time
		// complete makes the file's writer complete it while DropHalfWritten waits.
		complete bool
		left     string
	}{
		"removes an old file":                   {time.Hour, now.Add(-2 * time.Hour), false, ""},
		"removes a young file after the wait":   {2 * lookAgain, now, false, ""},
		"removes a file of the future, too":     {2 * lookAgain, now.Add(time.Hour), false, ""},
		"keeps a lock that its writer finishes": {time.Hour, now, true, "0.json"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			s := State{Backend: Backend{Folder: "a"}, Parent: root, Project: "shop", Stack: "organization/dev"}
			if err := s.DropHalfWritten(t.Context()); err != nil {
				t.Errorf("without a folder: %v", err)
			}
			dir := filepath.Join(root, "a", Locks("shop", "dev"))
			path := filepath.Join(dir, half)
			err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(path, nil, 0o600), os.Chtimes(path, c.written, c.written))
			if err != nil {
				t.Fatal(err)
			}
			if c.complete {
				time.AfterFunc(lookAgain, func() { _ = os.Rename(path, filepath.Join(dir, "0.json")) })
			}
			if err := s.dropHalfWritten(t.Context(), c.patience); err != nil {
				t.Fatal(err)
			}
			left := ""
			for _, entry := range must(os.ReadDir(dir))(t) {
				left += entry.Name()
			}
			if left != c.left {
				t.Errorf("left %q, want %q", left, c.left)
			}
		})
	}
	t.Run("ends with its context", func(t *testing.T) {
		root := t.TempDir()
		s := State{Backend: Backend{Folder: "."}, Parent: root, Project: "shop", Stack: "dev"}
		dir := filepath.Join(root, Locks("shop", "dev"))
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, half), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.dropHalfWritten(ctx, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
