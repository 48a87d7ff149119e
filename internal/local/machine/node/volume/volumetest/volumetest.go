// Package volumetest lets tests read the volumes of pods.
package volumetest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Content maps the paths that a program can open in a volume to "CONTENT MODE", for example "secret 644". It returns an
// error if the volume changes meanwhile.
func Content(dir string) (map[string]string, error) {
	found := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		// The volume's own folders and links begin so. Kubernetes allows no key that does.
		if strings.HasPrefix(e.Name(), "..data") {
			continue
		}
		target, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		err = filepath.WalkDir(target, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			raw, err := os.ReadFile(name)
			found[e.Name()+strings.TrimPrefix(name, target)] = fmt.Sprintf("%s %o", raw, info.Mode().Perm())
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
