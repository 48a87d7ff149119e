package controller

import (
	"fmt"
	"path"
	"strings"
)

// ownPrefix is the prefix of the operator's own environment variables. Runs do not get
// them.
const ownPrefix = "PULUMI_OPERATOR_"

// FileBackendRootVariable names the environment variable with the default of
// [Options.FileBackendRoot] on the command line.
const FileBackendRootVariable = ownPrefix + "FILE_BACKEND_ROOT"

// RunEndpointsVariable names the environment variable with the default of
// [Options.RunEndpoints] on the command line, separated by commas.
const RunEndpointsVariable = ownPrefix + "RUN_ENDPOINTS"

// passedEnvironment returns the variables of environ whose names match one of the
// patterns. passedEnvironment omits the operator's own variables.
func passedEnvironment(environ, patterns []string) ([]string, error) {
	var passed []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		for _, pattern := range patterns {
			match, err := path.Match(pattern, name)
			if err != nil {
				return nil, fmt.Errorf("pattern %q of variables to pass is not valid: %w", pattern, err)
			}
			if match && !strings.HasPrefix(name, ownPrefix) {
				passed = append(passed, variable)
				break
			}
		}
	}
	return passed, nil
}
