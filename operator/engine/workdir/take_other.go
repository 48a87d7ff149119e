//go:build !unix

package workdir

import (
	"fmt"
	"os"
)

// Take creates a folder in parent for [Folders.Parent]. The function release
// removes the folder.
func Take(parent string) (dir string, release func(), err error) {
	if dir, err = os.MkdirTemp(parent, "pulumi-operator-"); err != nil {
		return "", nil, fmt.Errorf("make folder for runs: %w", err)
	}
	return dir, func() { os.RemoveAll(dir) }, nil
}
