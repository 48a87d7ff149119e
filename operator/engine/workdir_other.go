//go:build !unix

package engine

import (
	"fmt"
	"os"
)

// TakeWorkDir creates a folder in parent for [Engine.WorkDir]. The function release
// removes the folder.
func TakeWorkDir(parent string) (dir string, release func(), err error) {
	if dir, err = os.MkdirTemp(parent, "pulumi-operator-"); err != nil {
		return "", nil, fmt.Errorf("make folder for runs: %w", err)
	}
	return dir, func() { os.RemoveAll(dir) }, nil
}
