package home

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// WriteFile writes a file of mode 0600 in one step: a reader, or a start after a power loss, finds the old content or
// the new one. When it returns, the new one is on disk.
func WriteFile(path string, content []byte) error { return write(path, content, os.Rename) }

// createFile is WriteFile where there is no file yet. Of several processes that call it at once one makes the file, for
// all: a link, unlike a rename, replaces nothing.
func createFile(path string, content []byte) error {
	err := write(path, content, os.Link)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// write writes a file beside the path and has it put there.
func write(path string, content []byte, put func(from, to string) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(content)
	if err == nil {
		err = tmp.Sync()
	}
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err := put(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// RemoveFile removes a file for good: it does not come back when the power fails.
func RemoveFile(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir puts on disk which names a folder holds.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// isTemporary says whether a file is what WriteFile, killed half-way, left of writing one of a name.
func isTemporary(file, name string) bool { return strings.HasPrefix(file, "."+name+"-") }

// KeepFile is WriteFile where the file does not hold the content yet.
func KeepFile(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	return WriteFile(path, content)
}

// SecretFile is the file of the secret that Secret returns for a name.
func (h Home) SecretFile(name string) string { return h.path("credentials", name) }

// Secret returns the random secret kept in a file of the home, and makes it at the first call. Of several processes that
// call it first, one makes it for all.
func (h Home) Secret(name string) (string, error) {
	path := h.SecretFile(name)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = createFile(path, []byte(rand.Text())); err == nil {
			raw, err = os.ReadFile(path)
		}
	}
	if err != nil {
		return "", fmt.Errorf("the home's secret %s: %w", name, err)
	}
	if len(raw) < len(rand.Text()) {
		return "", fmt.Errorf("the home's secret %s is damaged: put a copy of %s back, or begin anew by `%s`: what it opened cannot be opened without it",
			name, path, h.Call("down --purge"))
	}
	return string(raw), nil
}
