package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

var stackName = regexp.MustCompile(`^([A-Za-z0-9._-]+/){0,2}[A-Za-z0-9._-]{1,100}$`)

// validate finds what would only fail later, and less plainly.
func (r Request) validate() error {
	switch r.Operation {
	case Up, Preview, Refresh, Destroy:
	default:
		return fmt.Errorf("operation %q is unknown: use up, preview, refresh or destroy", r.Operation)
	}
	if r.Project == "" {
		return errors.New("no project: every stack belongs to a Pulumi project")
	}
	if !stackName.MatchString(r.Stack) {
		return fmt.Errorf("stack name %q is invalid: use letters, digits, '-', '_' and '.', optionally after an organization and '/'", r.Stack)
	}
	return nil
}

// write puts the program, its config and the kubeconfig into the run's folder.
func (r *run) write() error {
	program := r.Program
	if program == nil {
		var err error
		if program, err = yaml.Marshal(map[string]string{"name": r.Project, "runtime": "yaml"}); err != nil {
			return fmt.Errorf("write an empty program: %w", err)
		}
	}
	config := map[string]json.RawMessage{}
	for key, value := range r.Config {
		config[r.configKey(key)] = value
	}
	stack, err := yaml.Marshal(map[string]any{"config": config})
	if err != nil {
		return fmt.Errorf("write config of stack %q: %w", r.Stack, err)
	}
	files := map[string][]byte{
		"Pulumi.yaml": program,
		"Pulumi." + r.Stack[strings.LastIndexByte(r.Stack, '/')+1:] + ".yaml": stack,
	}
	if r.Kubeconfig != nil {
		files[kubeconfigFile] = r.Kubeconfig
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(r.dir, name), content, 0o600); err != nil {
			return fmt.Errorf("write the run's %s: %w", name, err)
		}
	}
	for _, name := range []string{homeFolder, tempFolder} {
		if err := os.Mkdir(filepath.Join(r.dir, name), 0o700); err != nil {
			return fmt.Errorf("make the run's folder %s: %w", name, err)
		}
	}
	return nil
}

// configKey qualifies a key by the project, as pulumi does.
func (r *run) configKey(key string) string {
	if strings.Contains(key, ":") {
		return key
	}
	return r.Project + ":" + key
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// Clean removes the folders of runs that a killed process left. It must not be
// called while this engine, or another with the same WorkDir, runs anything.
func (e *Engine) Clean() error {
	left, err := filepath.Glob(filepath.Join(e.WorkDir, runPrefix+"*"))
	if err != nil {
		return fmt.Errorf("look for left folders of runs: %w", err)
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove left folder of a run: %w", err)
		}
	}
	return nil
}
