package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/strata-platform/strata/operator/engine/sandbox"
	"github.com/strata-platform/strata/operator/untrusted"
)

// validate finds what would only fail later, and less plainly.
func (r Request) validate() error {
	switch r.Operation {
	case Up, Preview, Refresh, Destroy:
	default:
		return fmt.Errorf("operation %q is unknown: use up, preview, refresh or destroy", r.Operation)
	}
	if r.Program != nil && r.Source != nil {
		return errors.New("both Program and Source: a project comes from one place")
	}
	if r.Project == "" && r.Source == nil {
		return errors.New("no project: every stack belongs to a Pulumi project")
	}
	return r.checkNames()
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
	ctx, cancel := context.WithTimeout(context.Background(), removalTimeout)
	defer cancel()
	for _, dir := range left {
		if err := e.remove(ctx, dir); err != nil {
			return fmt.Errorf("remove left folder of a run: %w", err)
		}
	}
	return nil
}

// removalTimeout is how long somebody waits for a folder to be removed. A run can
// leave millions of files, whose removal takes minutes.
const removalTimeout = 10 * time.Second

// RemoveFolder removes a folder that [Engine.MakeFolder] made. What cannot be
// removed within ten seconds is removed in the background, or where this process
// ends before that, by [Engine.Clean].
func (e *Engine) RemoveFolder(dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), removalTimeout)
	defer cancel()
	_ = e.remove(ctx, dir) // Clean says what could not be removed.
}

func (e *Engine) remove(ctx context.Context, dir string) error {
	err := untrusted.Remove(ctx, dir)
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	go func() {
		e.removing.Lock()
		defer e.removing.Unlock()
		_ = untrusted.Remove(context.Background(), dir) // Clean says what could not be removed.
	}()
	return nil
}

// escape makes a path match itself only.
var escape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
