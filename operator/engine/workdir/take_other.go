//go:build !unix

package workdir

import (
	"fmt"
	"os"
)

// Take creates a folder in parent, whose name has the prefix. The function release
// removes the folder.
func Take(parent, prefix string) (dir string, release func(), err error) {
	if dir, err = os.MkdirTemp(parent, prefix); err != nil {
		return "", nil, fmt.Errorf("make folder: %w", err)
	}
	return dir, func() { os.RemoveAll(dir) }, nil
}
