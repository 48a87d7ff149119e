// Package backups selects the files of a home that nothing can create again, and lays out a new home from them.
package backups

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/strata-platform/strata/internal/backup"
	"github.com/strata-platform/strata/internal/backup/content"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
)

// Collect returns the content of a backup of a home. temporary is an empty folder for files that the content refers to. The caller
// keeps runs of the layers out. A run of a Stack may continue: Pulumi replaces a state in one step, and a state in which
// operations are pending is that of a killed run, which the operator settles.
func Collect(ctx context.Context, h home.Home, temporary string) (*content.Collection, error) {
	root, err := os.OpenRoot(h.Dir())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	c := &content.Collection{Target: content.Local, Environment: h.Environment()}
	for _, name := range []string{content.PortsFile, content.EnvironmentFile, content.OperatorFile, content.SourceFile} {
		if err := c.Add(root, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for _, folder := range []string{
		content.Credentials, content.Authorities, content.LayerFolder(lifecycle.BootstrapLayer), content.LayerFolder(lifecycle.PlatformLayer),
	} {
		if err := c.AddFolder(root, folder); err != nil {
			return nil, err
		}
	}
	if err := c.AddStates(ctx, h.LayerState(), content.LayerStates, backup.MaxTotal, nil); err != nil {
		return nil, err
	}
	if len(c.Left) > 0 {
		return nil, errors.New(c.Left[0])
	}
	for _, folder := range []string{content.TeamStates, content.LostStates} {
		if err := addTeams(ctx, c, h, folder); err != nil {
			return nil, err
		}
	}
	return c, addRepositories(ctx, c, h, temporary)
}

// addTeams adds the states in each subfolder of a folder of the home. Runs of teams can write to these subfolders.
func addTeams(ctx context.Context, c *content.Collection, h home.Home, folder string) error {
	entries, err := os.ReadDir(filepath.Join(h.Dir(), filepath.FromSlash(folder)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		name := path.Join(folder, entry.Name())
		if err := c.AddStates(ctx, filepath.Join(h.Dir(), filepath.FromSlash(name)), name, content.MaxStates, nil); err != nil {
			return err
		}
	}
	return nil
}

// addRepositories adds the Git repositories.
func addRepositories(ctx context.Context, c *content.Collection, h home.Home, temporary string) error {
	names, err := gitserver.List(h.Git())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range names {
		file := filepath.Join(temporary, name+content.Bundled)
		ok, err := gitserver.Bundle(ctx, h.Git(), name, file)
		if err != nil {
			return err
		}
		if ok {
			c.AddBundle(name, file)
		}
	}
	return nil
}
