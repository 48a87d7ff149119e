package backups

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/strata-platform/strata/internal/backup"
	"github.com/strata-platform/strata/internal/backup/content"
	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
)

// checkCloud returns an error unless the folder of the emulated Google Cloud can be moved.
func (r Restore) checkCloud() error {
	info, err := os.Lstat(r.Cloud)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--cloud %s does not exist: name the folder google of the former home", r.Cloud)
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("--cloud %s is not a folder", r.Cloud)
	}
	return cloud.CheckUnused(r.Cloud)
}

// accept returns an error unless the manifest is that of a backup of this platform, with the members that such a backup has.
func (r Restore) accept(manifest backup.Manifest) error {
	if manifest.Target != content.Local {
		return fmt.Errorf("it is a backup of a platform on the target %q, not on this machine", manifest.Target)
	}
	if err := content.Accept(manifest); err != nil {
		return err
	}
	if r.Environment != "" && r.Environment != manifest.Environment {
		return fmt.Errorf("it is a backup of the environment %s, not %s: use --env %[1]s", manifest.Environment, r.Environment)
	}
	identity, err := cloud.Identify(r.Cloud)
	if err != nil {
		return err
	}
	if identity != manifest.Cloud {
		return fmt.Errorf("the emulated Google Cloud in %s is not that of the backup, whose states describe other resources: name the folder google of %q", r.Cloud, manifest.Home)
	}
	return nil
}

// complete turns the members in a folder into a home.
func (r Restore) complete(ctx context.Context, dir string) error {
	bundles, err := filepath.Glob(filepath.Join(dir, content.Git, "*"+content.Bundled))
	if err != nil {
		return err
	}
	for _, bundle := range bundles {
		if err := gitserver.Unbundle(ctx, filepath.Join(dir, content.Git), strings.TrimSuffix(filepath.Base(bundle), content.Bundled), bundle); err != nil {
			return err
		}
		if err := os.Remove(bundle); err != nil {
			return err
		}
	}
	h, err := home.Open(dir)
	if err != nil {
		return err
	}
	operators, sources := []string{home.EmbeddedOperator, home.UpstreamOperator}, []string{home.GitSource, home.OCISource}
	if operator, source := h.Operator(), h.Source(); !slices.Contains(operators, operator) || !slices.Contains(sources, source) {
		return fmt.Errorf("it names the operator %.40q and the source %.40q, and this strata knows %v and %v", operator, source, operators, sources)
	}
	if kept := h.Environment(); kept != "" && !content.IsEnvironment(kept) {
		return errors.New("it names no environment")
	}
	// The addresses are settings of the cluster, and a cluster at another address would be another one for the layers.
	if err := h.CheckPorts(); err != nil {
		return err
	}
	return h.BeginDown(home.RestoreStep)
}

// commit moves the cloud into the new home, and the new home to its place.
func (r Restore) commit(dir string) error {
	if err := os.Rename(r.Cloud, filepath.Join(dir, "google")); errors.Is(err, syscall.EXDEV) {
		return fmt.Errorf("--cloud %s is on another file system than the home: move it next to the home first", r.Cloud)
	} else if err != nil {
		return err
	}
	// The home's folder may exist, without content.
	if err := os.Remove(r.Home.Dir()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(dir, r.Home.Dir()); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(r.Home.Dir()))
	if err != nil {
		return nil //nolint:nilerr // The home is in place.
	}
	defer parent.Close()
	_ = parent.Sync()
	return nil
}
