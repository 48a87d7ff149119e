package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/strata-platform/strata/operator/engine/layout"
	"github.com/strata-platform/strata/operator/engine/plugins"
	"github.com/strata-platform/strata/operator/engine/project"
	"github.com/strata-platform/strata/operator/environ"
	"github.com/strata-platform/strata/operator/sandbox"
)

// Prepare stores the versions and the schemas of all plugins on PATH in Cache, for later runs. Prepare may be called during
// runs. Runs that begin before it returns do not use the schemas.
func (e *Engine) Prepare(ctx context.Context) error {
	if e.Cache == "" {
		return errors.New("prepare plugins: no Cache to store their schemas in")
	}
	preparer := plugins.Preparer{Path: environ.Variable(e.Env, "PATH"), Folders: e.Folders, Memory: maxMemory}
	dir, err := preparer.Prepare(ctx, e.Cache)
	if err != nil {
		return fmt.Errorf("prepare plugins: %w", err)
	}
	e.shared.Store(&dir)
	return nil
}

// share lets a YAML run use the schemas that Prepare stored in dir. A nil dir changes
// nothing. Other languages cannot use the schemas: pulumi would ignore the plugins on
// PATH, and the hosts of other languages may be on PATH only.
func (r *run) share(dir *string) error {
	if dir == nil || r.project.Language() != project.YAML {
		return nil
	}
	if err := plugins.Link(*dir, filepath.Join(r.dir, layout.Home)); err != nil {
		return fmt.Errorf("prepare the plugins of stack %q: %w", r.Stack, err)
	}
	r.env = append(r.env, ignoreAmbient+"=true")
	r.shared = *dir
	return nil
}

// ignoreAmbient names the variable that makes pulumi ignore the plugins on PATH.
const ignoreAmbient = "PULUMI_IGNORE_AMBIENT_PLUGINS"

// unshare undoes share. unshare is for a run that asks for a version of a plugin that
// Prepare did not find on PATH. Pulumi then uses the plugin on PATH nevertheless.
func (r *run) unshare() error {
	if err := plugins.Unlink(r.root, layout.Home); err != nil {
		return fmt.Errorf("prepare the plugins of stack %q: %w", r.Stack, err)
	}
	r.env = append(r.env, ignoreAmbient+"=false")
	r.shared = ""
	return nil
}

// CanConfine returns an error that says why this system cannot give runs namespaces of their own, or nil if it can. With an error, only
// Landlock confines a run to its files, and only if the kernel supports Landlock.
func CanConfine() error { return sandbox.Check() }
