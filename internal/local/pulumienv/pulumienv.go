// Package pulumienv makes the environment in which Pulumi runs on the local target: the programs of the toolchain and
// the local provider plugins on PATH, and the endpoints of the emulated Google Cloud.
package pulumienv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/strata-platform/strata/internal/local/gcloud"
	"github.com/strata-platform/strata/internal/local/home"
)

// Tools are the programs of the toolchain that a Pulumi run needs.
var Tools = []string{"pulumi", "pulumi-language-yaml", "pulumi-resource-kubernetes"}

// plugins are the names under which strata's own executable is a provider plugin.
var plugins = []string{"pulumi-resource-gcp", "pulumi-resource-random", "pulumi-resource-flux"}

// Link fills the home's tools folder with links to the toolchain's programs and, as provider plugins, to strata's own
// executable. Pulumi finds them there as ambient plugins: no run needs a plugin folder of its own.
func Link(ctx context.Context, h home.Home, find func(context.Context, string) (string, error), strata string) error {
	if err := os.MkdirAll(h.Tools(), 0o700); err != nil {
		return fmt.Errorf("link the tools: %w", err)
	}
	for _, name := range Tools {
		path, err := find(ctx, name)
		if err != nil {
			return err
		}
		if err := link(path, filepath.Join(h.Tools(), name)); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	for _, name := range plugins {
		if err := link(strata, filepath.Join(h.Tools(), name)); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	return nil
}

// link makes path a symbolic link to target, in one step.
func link(target, path string) error {
	if old, err := os.Readlink(path); err == nil && old == target {
		return nil
	}
	tmp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.Symlink(target, tmp); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(tmp, path)
}

// Variables are the environment variables of every run: of the layers, and of what the operator runs.
func Variables(h home.Home, googleURL string) map[string]string {
	env := map[string]string{
		"PATH":                     h.Tools() + string(os.PathListSeparator) + os.Getenv("PATH"),
		"PULUMI_SKIP_UPDATE_CHECK": "true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
	}
	maps.Copy(env, gcloud.Endpoints(googleURL))
	return env
}
