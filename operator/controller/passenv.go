package controller

import (
	"fmt"
	"path"
	"strings"
)

// ownPrefix begins the names of the operator's own settings. No run gets them.
const ownPrefix = "PULUMI_OPERATOR_"

// FileBackendRootVariable names the environment variable that stands for
// Options.FileBackendRoot where nothing else is said.
const FileBackendRootVariable = ownPrefix + "FILE_BACKEND_ROOT"

// RunEndpointsVariable names the environment variable that stands for
// Options.RunEndpoints, with commas between them, where nothing else is said.
const RunEndpointsVariable = ownPrefix + "RUN_ENDPOINTS"

// passedEnvironment returns the variables of environ whose names match one of the
// patterns, but for the operator's own.
func passedEnvironment(environ, patterns []string) ([]string, error) {
	var passed []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		for _, pattern := range patterns {
			match, err := path.Match(pattern, name)
			if err != nil {
				return nil, fmt.Errorf("name of variable to pass %q is no valid pattern: %w", pattern, err)
			}
			if match && !strings.HasPrefix(name, ownPrefix) {
				passed = append(passed, variable)
				break
			}
		}
	}
	return passed, nil
}
