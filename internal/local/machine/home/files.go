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

// WriteFile atomically writes a file of mode 0600: a reader, or a start after a power failure, finds the old content
// or the new content. When WriteFile returns, the new content is on disk.
func WriteFile(path string, content []byte) error { return write(path, content, os.Rename) }

// createFile is WriteFile for a file that does not exist yet. If several processes call it at once, only one creates
// the file, because a link, unlike a rename, never replaces a file.
func createFile(path string, content []byte) error {
	err := write(path, content, os.Link)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// write writes a temporary file next to path and calls put to move it to path.
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

// RemoveFile removes a file durably: the file does not reappear after a power failure.
func RemoveFile(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir writes the entries of a folder to disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// isTemporary reports whether file is the temporary file of a killed WriteFile for name.
func isTemporary(file, name string) bool { return strings.HasPrefix(file, "."+name+"-") }

// KeepFile is WriteFile unless the file has the content already.
func KeepFile(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	return WriteFile(path, content)
}

// SecretFile returns the path of the file with the secret called name.
func (h Home) SecretFile(name string) string { return h.path("credentials", name) }

// Secret returns the random secret called name, 26 characters of text. A file of the home contains it. The first call
// creates it, even if several processes make the first call at once.
func (h Home) Secret(name string) (string, error) {
	path := h.SecretFile(name)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = createFile(path, []byte(rand.Text())); err == nil {
			raw, err = os.ReadFile(path)
		}
	}
	if err != nil {
		return "", fmt.Errorf("read the home's secret %s: %w", name, err)
	}
	if len(raw) < len(rand.Text()) {
		return "", fmt.Errorf("the home's secret %s is damaged: restore %s from a backup, or start over with `%s`: without the secret, the data that it protects is unreadable",
			name, path, h.Call("down --purge"))
	}
	return string(raw), nil
}
