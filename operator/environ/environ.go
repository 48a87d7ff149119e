// Package environ reads an environment: its variables, and the commands on its PATH.
package environ

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// LookPath finds a command on the path searched. LookPath ignores relative entries,
// because they would refer to the command's folder.
func LookPath(name, searched string) (string, error) {
	for _, dir := range filepath.SplitList(searched) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("command %s is not in the folders of the run's PATH (%q): install it, or pass another PATH to the operator (--pass-env)", name, searched)
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

// Matching returns the variables of env, a list of NAME=value, whose names match one of the patterns of [path.Match] and do not
// begin with the prefix without.
func Matching(env, patterns []string, without string) ([]string, error) {
	var passed []string
	for _, variable := range env {
		name, _, _ := strings.Cut(variable, "=")
		for _, pattern := range patterns {
			match, err := path.Match(pattern, name)
			if err != nil {
				return nil, fmt.Errorf("pattern %q of variables to pass is not valid: %w", pattern, err)
			}
			if match && !strings.HasPrefix(name, without) {
				passed = append(passed, variable)
				break
			}
		}
	}
	return passed, nil
}

// variableName matches the names that Kubernetes accepts for an environment variable: printable ASCII without the equals sign.
var variableName = regexp.MustCompile(`^[ -<>-~]+$`)

var errReserved = errors.New("is reserved: the operator sets it itself")

// Check returns an error if the environment of a run must not have a variable of this name. Variables that choose a
// program, a file or an identity are reserved. Pulumi's debugging variables are reserved because they would let a run use
// the plugins, and so the identity, of another run.
func Check(name string) error {
	switch name {
	case "PATH", "HOME", "TMPDIR", "KUBECONFIG", "PULUMI_HOME", "PULUMI_DEBUG_PROVIDERS", "PULUMI_DEBUG_LANGUAGES":
		return errReserved
	}
	if strings.HasPrefix(name, "LD_") {
		return errReserved
	}
	if !variableName.MatchString(name) {
		return errors.New("has an invalid name")
	}
	return nil
}
