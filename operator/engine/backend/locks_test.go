package backend

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDropHalfWritten(t *testing.T) {
	const half, whole, lock = "0.json.18a1.tmp", "0.json", `{"pid": 1, "username": "ada", "hostname": "here"}`
	now := time.Now()
	for name, c := range map[string]struct {
		file, content string
		patience      time.Duration
		written       time.Time
		// complete makes the file's writer complete it while DropHalfWritten waits.
		complete bool
		left     string
	}{
		"removes an old file":                              {half, "", time.Hour, now.Add(-2 * time.Hour), false, ""},
		"removes a young file after the wait":              {half, "", 2 * lookAgain, now, false, ""},
		"removes a file of the future, too":                {half, "", 2 * lookAgain, now.Add(time.Hour), false, ""},
		"keeps a lock that its writer renames":             {half, lock, time.Hour, now, true, whole},
		"removes a lock that a power failure left empty":   {whole, "", time.Hour, now.Add(-2 * time.Hour), false, ""},
		"removes a lock that a power failure cut":          {whole, lock[:20], time.Hour, now.Add(-2 * time.Hour), false, ""},
		"removes a lock of zeros":                          {whole, "\x00\x00\x00\x00", time.Hour, now.Add(-2 * time.Hour), false, ""},
		"removes a young empty lock after the wait":        {whole, "", 2 * lookAgain, now, false, ""},
		"keeps an empty lock that its writer completes":    {whole, "", time.Hour, now, true, whole},
		"keeps an old complete lock":                       {whole, lock, 0, now.Add(-2 * time.Hour), false, whole},
		"keeps a file that is too large to be a lock":      {whole, strings.Repeat(" ", maxLock+1), 0, now.Add(-2 * time.Hour), false, whole},
		"keeps a file that is neither lock nor half of it": {"notes.txt", "", 0, now.Add(-2 * time.Hour), false, "notes.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			s := State{Backend: Backend{Folder: "a"}, Parent: root, Project: "shop", Stack: "organization/dev"}
			if err := s.DropHalfWritten(t.Context()); err != nil {
				t.Errorf("without a folder: %v", err)
			}
			dir := filepath.Join(root, "a", Locks("shop", "dev"))
			path := filepath.Join(dir, c.file)
			err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(path, []byte(c.content), 0o600), os.Chtimes(path, c.written, c.written))
			if err != nil {
				t.Fatal(err)
			}
			if c.complete {
				time.AfterFunc(lookAgain, func() {
					ready := filepath.Join(root, "ready")
					_ = errors.Join(os.WriteFile(ready, []byte(lock), 0o600), os.Rename(ready, filepath.Join(dir, whole)))
					if c.file != whole {
						_ = os.Remove(path)
					}
				})
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
