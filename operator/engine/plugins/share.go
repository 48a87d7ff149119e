package plugins

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Link lets a run use the schemas in dir, a folder that [Preparer.Prepare] returned. home is the PULUMI_HOME of the run.
func Link(dir, home string) error {
	for _, folder := range []string{pluginsFolder, schemasFolder} {
		if err := os.Symlink(filepath.Join(dir, folder), filepath.Join(home, folder)); err != nil {
			return fmt.Errorf("link the schemas of plugins: %w", err)
		}
	}
	return nil
}

// Unlink undoes [Link]. home is the path of PULUMI_HOME below root. The run may have replaced its home with a link, so Unlink
// accesses it through root.
func Unlink(root *os.Root, home string) error {
	for _, folder := range []string{pluginsFolder, schemasFolder} {
		if err := root.Remove(filepath.Join(home, folder)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("unlink the schemas of plugins: %w", err)
		}
	}
	return nil
}
