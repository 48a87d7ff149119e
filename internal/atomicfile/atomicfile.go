// Package atomicfile replaces the content of files in one step.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace replaces the content of an existing file: others read the old content or the new one, also after a crash. The file
// keeps its mode. If path is a link, Replace keeps the link and replaces its target. The errors name the file.
func Replace(path string, content []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	// Only a rename in the same folder is atomic.
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(content)
	if err == nil {
		err = file.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
