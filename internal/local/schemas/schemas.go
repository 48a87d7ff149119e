// Package schemas keeps the schemas of the Pulumi plugins of this machine for checks of Programs.
package schemas

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/pulumienv"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/operator/engine/plugins"
	"github.com/strata-platform/strata/operator/engine/workdir"
)

// maxMemory bounds the memory of a plugin that returns its schema, in bytes.
const maxMemory = 4 << 30

// ErrNotBuilt means that the toolchain's cache has no Pulumi: Keep builds nothing.
var ErrNotBuilt = errors.New("the cache has no Pulumi of this version: run strata up, or strata toolchain build")

// Keep returns a folder with the schemas of the plugins that programs in YAML use on this machine, in files
// NAME-VERSION.json. The first call for a version starts each plugin once, which takes seconds; later calls read the cache.
// self is the executable of strata, which serves most of the plugins.
func Keep(ctx context.Context, tools *toolchain.Toolchain, self string) (string, error) {
	built, err := tools.List(ctx)
	if err != nil {
		return "", err
	}
	paths := map[string]string{}
	for _, tool := range built {
		if tool.State != toolchain.Missing {
			if paths[tool.Name], err = tools.Path(ctx, tool.Name); err != nil {
				return "", err
			}
		}
	}
	folder := filepath.Join(tools.Cache(), "schemas")
	h, err := home.At(folder)
	if err != nil {
		return "", err
	}
	find := func(_ context.Context, name string) (string, error) {
		if paths[name] == "" {
			return "", fmt.Errorf("%w (%s is missing)", ErrNotBuilt, name)
		}
		return paths[name], nil
	}
	if err := pulumienv.Link(ctx, h, find, self); err != nil {
		return "", err
	}
	runs, err := os.MkdirTemp("", "strata-schemas-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(runs)
	kept, err := plugins.Preparer{Path: h.Tools(), Folders: &workdir.Folders{Parent: runs}, Memory: maxMemory}.Prepare(ctx, filepath.Join(folder, "kept"))
	if err != nil {
		return "", fmt.Errorf("store the schemas of Pulumi's plugins: %w", err)
	}
	return filepath.Join(kept, "schemas"), nil
}
