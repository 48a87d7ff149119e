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

	"github.com/strata-platform/strata/operator/engine/message"
	"github.com/strata-platform/strata/operator/engine/sandbox"
	"github.com/strata-platform/strata/operator/untrusted"
)

// validate rejects requests that would fail later with a less clear error.
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

// newMask returns a mask of the request's secrets and of the texts that its program marks as secret.
func newMask(req Request) *message.Mask {
	secrets := append(slices.Collect(maps.Values(req.SecretConfig)), req.Secrets...)
	return message.NewMask(append(secrets, message.LiteralSecrets(req.Program)...)...)
}

// write creates the folders and files of the run, except those of its project.
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

// configKey qualifies a key without a namespace with the project's name, as pulumi
// does.
func (r *run) configKey(key string) string {
	if strings.Contains(key, ":") {
		return key
	}
	return r.Project + ":" + key
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// Clean kills the processes of runs that a killed operator left, and then removes the
// folders of these runs. Clean must not be called while this engine, or another engine
// with the same WorkDir, runs anything.
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

// removalTimeout bounds how long a caller waits for the removal of a folder. A run can
// leave millions of files, and their removal takes minutes.
const removalTimeout = 10 * time.Second

// RemoveFolder removes a folder that [Engine.MakeFolder] created. After ten seconds it
// returns, and the removal continues in the background. If this process ends before the
// removal does, [Engine.Clean] removes the rest.
func (e *Engine) RemoveFolder(dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), removalTimeout)
	defer cancel()
	_ = e.remove(ctx, dir) // Clean reports what it cannot remove.
}

func (e *Engine) remove(ctx context.Context, dir string) error {
	err := untrusted.Remove(ctx, dir)
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	go func() {
		e.removing.Lock()
		defer e.removing.Unlock()
		_ = untrusted.Remove(context.Background(), dir) // Clean reports what it cannot remove.
	}()
	return nil
}

// escape quotes the special characters of [filepath.Glob] in a path.
var escape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
