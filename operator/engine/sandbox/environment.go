package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// LookPath finds a command on the given path. A relative entry is left out: it
// would be looked up in the command's folder.
func LookPath(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("command %s not found: the PATH of the run (%q) has none", name, path)
}

// Value looks a variable up; the last entry wins, as it does for a process.
func Value(env []string, name string) string {
	for _, variable := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(variable, name+"="); ok {
			return v
		}
	}
	return ""
}
