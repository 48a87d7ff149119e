package sandbox

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
	return "", fmt.Errorf("command %s not found: the PATH of the run (%q) has none", name, path)
}

// Value returns the value of a variable in env. The last entry wins, as in a process.
// Value returns an empty string if there is no entry.
func Value(env []string, name string) string {
	for _, variable := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(variable, name+"="); ok {
			return v
		}
	}
	return ""
}
