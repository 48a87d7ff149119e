// Package environ reads an environment: its variables, and the commands on its PATH.
package environ

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// LookPath finds a command on the given path. LookPath ignores relative entries,
// because they would refer to the command's folder.
func LookPath(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("command %s is not in the folders of the run's PATH (%q): install it, or pass another PATH to the operator (--pass-env)", name, path)
}

// Variable returns the value of a variable in env, a list of NAME=value. The last entry
// wins, as in a process. Variable returns an empty string if there is no entry.
func Variable(env []string, name string) string {
	for _, variable := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(variable, name+"="); ok {
			return v
		}
	}
	return ""
}
