package backups

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"filippo.io/age"

	"github.com/strata-platform/strata/internal/backup"
	"github.com/strata-platform/strata/internal/local/machine/home"
)

// Restore lays out a home from a backup.
type Restore struct {
	// Home is the home, whose folder does not exist or is empty.
	Home home.Home
	// Environment is the wanted environment; empty means that of the backup.
	Environment string
	// File is the path of the backup, and Identities open it.
	File       string
	Identities []age.Identity
	// Cloud is the folder of the emulated Google Cloud that has outlived the former home. It becomes the home's.
	Cloud string
	// Version is the version of this strata.
	Version string
}

// Run restores the backup. After an error nothing has changed: Run prepares the new home in a folder beside it, and moves that
// folder at the end. The next Run reverts a killed one.
func (r Restore) Run(ctx context.Context) (backup.Manifest, error) {
	manifest, err := r.run(ctx)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("restore the home %s: %w: nothing was changed", r.Home.Dir(), err)
	}
	return manifest, err
}

func (r Restore) run(ctx context.Context) (manifest backup.Manifest, err error) {
	if r.Cloud, err = filepath.Abs(r.Cloud); err != nil {
		return manifest, err
	}
	if err := r.checkHome(); err != nil {
		return manifest, err
	}
	home.KeepPrivate()
	stage, discard, err := r.stage()
	if err != nil {
		return manifest, err
	}
	defer func() { err = errors.Join(err, discard()) }()
	if err := r.checkCloud(); err != nil {
		return manifest, err
	}
	manifest, err = backup.Extract(ctx, r.File, r.Version, r.Identities, stage, r.accept)
	if err == nil {
		err = r.complete(ctx, stage)
	}
	if err != nil {
		return manifest, err
	}
	return manifest, r.commit(stage)
}

// checkHome returns an error unless the home's folder does not exist or is empty.
func (r Restore) checkHome() error {
	entries, err := os.ReadDir(r.Home.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("it is not empty: name another folder in %s", home.Variable)
	}
	return err
}

// stage creates the folder for the new home beside it, and locks it. A killed restore may have left this folder. discard removes
// it unless it has become the home.
func (r Restore) stage() (dir string, discard func() error, err error) {
	parent, name := filepath.Split(r.Home.Dir())
	dir = filepath.Join(parent, "."+name+".restoring")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	lock, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return "", nil, errors.Join(errors.New("another strata restores it"), lock.Close())
	}
	if err := r.revert(dir); err != nil {
		return "", nil, errors.Join(err, lock.Close())
	}
	return dir, func() error {
		defer lock.Close()
		opened, err := lock.Stat()
		if err != nil {
			return err
		}
		if now, err := os.Lstat(dir); err != nil || !os.SameFile(opened, now) {
			return nil //nolint:nilerr // The folder is the home now.
		}
		if err := r.revert(dir); err != nil {
			return err
		}
		return os.Remove(dir)
	}, nil
}

// revert moves the cloud back out of the folder of a restore that did not finish, and empties that folder.
func (r Restore) revert(dir string) error {
	moved := filepath.Join(dir, "google")
	if cloud, err := os.Lstat(moved); err == nil {
		// A rename of a folder to itself succeeds, and leaves the cloud where everything is removed.
		if named, err := os.Stat(r.Cloud); err == nil && os.SameFile(cloud, named) {
			return fmt.Errorf("a restore did not finish, and --cloud names the emulated Google Cloud in its folder %s: move it out, and name its new place", moved)
		}
		// A rename to an existing folder fails.
		if err := os.Rename(moved, r.Cloud); err != nil {
			return fmt.Errorf("a restore did not finish, and the emulated Google Cloud is in %s: move it out, and name it in --cloud: %w", moved, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
	}
	return err
}
