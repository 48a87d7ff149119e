// Package schemas keeps the schemas of the Pulumi plugins of this machine for checks of Programs.
package schemas

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

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
// NAME-VERSION.json. The first call for a version starts each plugin once, which takes seconds; later calls read the cache, and
// calls at the same time wait for the first. self is the executable of strata, which serves most of the plugins.
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
	release, err := lock(folder)
	if err != nil {
		return "", err
	}
	defer release()
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

// Folders returns the folders with the schemas for checks: the given one, or that of Keep. Without any, a check leaves out the
// types, and says so.
func Folders(ctx context.Context, open func() (*toolchain.Toolchain, error), given string) []string {
	if given != "" {
		return []string{given}
	}
	tools, err := open()
	if err != nil {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	kept, err := Keep(ctx, tools, self)
	if err != nil {
		return nil
	}
	return []string{kept}
}

// lock waits for the lock of a folder, which it creates. The first process that stores the schemas of a version removes those
// of others.
func lock(folder string) (release func(), err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", folder, err), file.Close())
	}
	return func() { _ = file.Close() }, nil
}
