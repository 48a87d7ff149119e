// Package settings writes the settings file of a stack: its config, plain and encrypted.
package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/operator/engine/message"
	"github.com/strata-platform/strata/operator/engine/project"
	"github.com/strata-platform/strata/operator/untrusted"
)

// File is the settings file of a stack.
type File struct {
	// Root is the opened folder of the project's files. A run can write to it.
	Root *os.Root

	// Path is the path of the file below Root.
	Path string

	// Project and Stack are the names of the project and of the stack.
	Project, Stack string
}

// InvalidError is the error of a settings file in the project that is not valid.
type InvalidError struct{ message string }

// Error implements the error interface.
func (e *InvalidError) Error() string { return e.message }

func invalid(format string, args ...any) error { return &InvalidError{fmt.Sprintf(format, args...)} }

// Merge writes config values, as JSON by their keys, into the file, and creates a missing file. The values take precedence
// over those in the file. The error is an [*InvalidError] if the file is not valid.
func (f File) Merge(values map[string]json.RawMessage) error {
	settings := map[string]any{}
	data, err := project.ReadFile(f.Root, f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return invalid("its %s cannot be read: %v", f.Path, err)
	default:
		if err := project.DecodeYAML(data, &settings); err != nil {
			return invalid("its %s is not valid: %s", f.Path, message.YAMLFault(err))
		}
	}
	config, ok := settings["config"].(map[string]any)
	if !ok && settings["config"] != nil {
		return invalid("its %s is not valid: config is not a map", f.Path)
	}
	merged := map[string]any{}
	for key, value := range config {
		merged[f.key(key)] = value
	}
	for key, value := range values {
		merged[f.key(key)] = value
	}
	if settings == nil {
		settings = map[string]any{}
	}
	settings["config"] = merged
	if data, err = yaml.Marshal(settings); err == nil && path.Ext(f.Path) == ".json" {
		data, err = yaml.YAMLToJSON(data)
	}
	if err != nil {
		return fmt.Errorf("write config of stack %q: %w", f.Stack, err)
	}
	if err := untrusted.Write(f.Root, f.Path, data); err != nil {
		return fmt.Errorf("write config of stack %q: %w", f.Stack, err)
	}
	return nil
}

// key qualifies a key without a namespace with the project's name, as pulumi
// does.
func (f File) key(key string) string {
	if strings.Contains(key, ":") {
		return key
	}
	return f.Project + ":" + key
}
