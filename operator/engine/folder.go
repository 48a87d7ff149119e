package engine

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/strata-platform/strata/operator/engine/sandbox"
)

var stackName = regexp.MustCompile(`^([A-Za-z0-9._-]+/){0,2}[A-Za-z0-9._-]{1,100}$`)

// validate finds what would only fail later, and less plainly.
func (r Request) validate() error {
	switch r.Operation {
	case Up, Preview, Refresh, Destroy:
	default:
		return fmt.Errorf("operation %q is unknown: use up, preview, refresh or destroy", r.Operation)
	}
	sources := 0
	for _, given := range []bool{r.Program != nil, r.Source != nil, r.Dir != ""} {
		if given {
			sources++
		}
	}
	if sources > 1 {
		return errors.New("more than one of Program, Source and Dir: a project comes from one place")
	}
	if r.Project == "" && r.Source == nil && r.Dir == "" {
		return errors.New("no project: every stack belongs to a Pulumi project")
	}
	if !stackName.MatchString(r.Stack) {
		return fmt.Errorf("stack name %q is invalid: use letters, digits, '-', '_' and '.', optionally after an organization and '/'", r.Stack)
	}
	return nil
}

// write makes the folders and files of the run besides its project.
func (r *run) write() error {
	for _, name := range []string{homeFolder, tempFolder} {
		if err := os.Mkdir(filepath.Join(r.dir, name), 0o700); err != nil {
			return fmt.Errorf("make the run's folder %s: %w", name, err)
		}
	}
	if r.Kubeconfig == nil {
		return nil
	}
	if err := os.WriteFile(filepath.Join(r.dir, kubeconfigFile), r.Kubeconfig, 0o600); err != nil {
		return fmt.Errorf("write the run's %s: %w", kubeconfigFile, err)
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

// Clean ends what runs that a killed process began have left: their processes,
// then their folders. It must not be called while this engine, or another with the
// same WorkDir, runs anything.
func (e *Engine) Clean() error {
	if e.WorkDir == "" {
		return errors.New("no WorkDir to clean: the folder for temporary files is others' as well")
	}
	runs, err := filepath.Abs(filepath.Join(e.WorkDir, runPrefix))
	if err != nil {
		return fmt.Errorf("look for left folders of runs: %w", err)
	}
	if err := sandbox.Kill(runs); err != nil {
		return fmt.Errorf("end left processes of runs: %w", err)
	}
	left, err := filepath.Glob(escape.Replace(runs) + "*")
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

// escape makes a path match itself only.
var escape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
