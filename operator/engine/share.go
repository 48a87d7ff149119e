package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/strata-platform/strata/operator/engine/project"
)

// share lets a YAML run use the schemas that Prepare stored. Other languages cannot use
// them: pulumi would ignore the plugins on PATH, and the hosts of other languages may
// be on PATH only.
func (r *run) share(dir *string) error {
	if dir == nil || r.project.Language() != project.YAML {
		return nil
	}
	for _, folder := range []string{pluginsFolder, schemasFolder} {
		if err := os.Symlink(filepath.Join(*dir, folder), filepath.Join(r.dir, homeFolder, folder)); err != nil {
			return fmt.Errorf("prepare the plugins of stack %q: %w", r.Stack, err)
		}
	}
	r.env = append(r.env, ignoreAmbient+"=true")
	r.shared = *dir
	return nil
}

const ignoreAmbient = "PULUMI_IGNORE_AMBIENT_PLUGINS"

// unshare undoes share. unshare is for a run that asks for a version of a plugin that
// Prepare did not find on PATH. Pulumi then uses the plugin on PATH nevertheless.
func (r *run) unshare() error {
	for _, folder := range []string{pluginsFolder, schemasFolder} {
		// The run may have replaced its home with a link, so this goes through root.
		if err := r.root.Remove(filepath.Join(homeFolder, folder)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("prepare the plugins of stack %q: %w", r.Stack, err)
		}
	}
	r.env = append(r.env, ignoreAmbient+"=false")
	r.shared = ""
	return nil
}
