package controller

import (
	"fmt"
	"path"
	"strings"
)

// passedEnvironment returns the variables of environ whose names match one of the
// patterns.
func passedEnvironment(environ, patterns []string) ([]string, error) {
	var passed []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		for _, pattern := range patterns {
			match, err := path.Match(pattern, name)
			if err != nil {
				return nil, fmt.Errorf("name of variable to pass %q is no valid pattern: %w", pattern, err)
			}
			if match {
				passed = append(passed, variable)
				break
			}
		}
	}
	return passed, nil
}
