//go:build !unix

package engine

import (
	"fmt"
	"os"
)

// TakeWorkDir returns a new folder in parent for [Engine.WorkDir], and what removes
// it.
func TakeWorkDir(parent string) (dir string, release func(), err error) {
	if dir, err = os.MkdirTemp(parent, "pulumi-operator-"); err != nil {
		return "", nil, fmt.Errorf("make folder for runs: %w", err)
	}
	return dir, func() { os.RemoveAll(dir) }, nil
}
