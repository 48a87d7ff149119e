package runtime

import (
	"io"
	"os"
	"path/filepath"
)

// Files returns the folder, in the folder of a pod, with the files of the node's own that the pod's programs can write to, such as
// /etc/hosts. They count as the pod's use of the disk.
func Files(dir string) string { return filepath.Join(dir, "files") }

// KeepFile writes a file of Files that every user of a container may read, unless it has the text already, and returns its path.
// The folder of the pod protects it on this machine. A container may have written the file, so KeepFile reads no more of it than
// the text.
func KeepFile(dir, name, text string) (path string, err error) {
	path = filepath.Join(Files(dir), name)
	if have, err := start(path, int64(len(text))+1); err == nil && string(have) == text {
		return path, nil
	}
	if err := os.MkdirAll(Files(dir), 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return "", err
	}
	return path, os.Chmod(path, 0o644)
}

// start returns the beginning of a file, of at most a number of bytes.
func start(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, most))
}
