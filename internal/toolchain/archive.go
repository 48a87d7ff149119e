package toolchain

import (
	"path"

	"github.com/strata-platform/strata/internal/toolchain/sources"
)

// Archive returns the sources of all tools in the clone at root, in the format of [sources.Format]: the files that builds read.
func Archive(root string) ([]byte, error) {
	from, files := sources.In(root), map[string][]byte{}
	for _, b := range everySystem() {
		m, err := readModule(from, b)
		if err != nil {
			return nil, err
		}
		for name, content := range m.files {
			files[path.Join(m.dir, name)] = content
		}
	}
	return from.Format(files)
}

// FindRoot is [sources.FindRoot].
func FindRoot(start string) (string, error) { return sources.FindRoot(start) }
