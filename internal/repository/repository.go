// Package repository finds, writes and updates the repository of a platform team: a clone of Strata, or an organisation's own
// repository, which contains only the organisation's files and pins a version of Strata.
package repository

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/pins"
	"github.com/strata-platform/strata/internal/toolchain/sources"
)

// Repository is a folder with teams.yaml and the layers' projects.
type Repository struct {
	// Root is the folder.
	Root string
	// Organisation says that it is an organisation's repository, and not a clone of Strata.
	Organisation bool
}

// ErrNone means that a folder is in no repository.
var ErrNone = errors.New("no repository of a platform")

// At returns the repository at root. A folder without strata.yaml counts as a clone.
func At(root string) Repository {
	return Repository{Root: root, Organisation: !sources.IsClone(root) && isFile(filepath.Join(root, pins.File))}
}

// Find returns the repository that contains start: the folder start, or the nearest of its parents that is a repository. It
// returns an error if another user owns the repository, because the owner decides what strata runs. It returns ErrNone if there
// is no repository.
func Find(start string) (Repository, error) {
	start, err := filepath.Abs(start)
	if err != nil {
		return Repository{}, fmt.Errorf("find the platform's repository: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		marker := ""
		if sources.IsClone(dir) {
			marker = "go.mod"
		} else if isFile(filepath.Join(dir, pins.File)) {
			marker = pins.File
		}
		if marker != "" {
			return At(dir), trusted(dir, filepath.Join(dir, marker))
		}
		if dir == filepath.Dir(dir) {
			return Repository{}, fmt.Errorf("%w: neither %s nor a folder above it contains %s, or the go.mod and tools/ of a clone of Strata: "+
				"run `strata init DIR` to create a repository, or go to yours", ErrNone, start, pins.File)
		}
	}
}

// Here returns the repository that contains the working folder, or else the clone that contains the running program.
func Here() (Repository, error) {
	found, err := Find(".")
	if !errors.Is(err, ErrNone) {
		return found, err
	}
	if executable, exeErr := os.Executable(); exeErr == nil {
		if root, exeErr := sources.FindRoot(filepath.Dir(executable)); exeErr == nil {
			return At(root), nil
		}
	}
	return Repository{}, err
}

// HereOrNone is like Here. If there is no repository, it returns the working folder, for a call that needs none.
func HereOrNone() (Repository, error) {
	found, err := Here()
	if errors.Is(err, ErrNone) {
		dir, err := os.Getwd()
		return At(dir), err
	}
	return found, err
}

// Pins reads strata.yaml of an organisation's repository.
func (r Repository) Pins() (pins.Pins, error) { return pins.Load(filepath.Join(r.Root, pins.File)) }

// Folder returns the folder of a layer's Pulumi project, relative to Root.
func (r Repository) Folder(layer string) (string, error) {
	project, err := lifecycle.ProjectOf(layer)
	if err != nil || !r.Organisation {
		return project.Folder, err
	}
	return layer, nil
}

// isFile reports whether a path is a file, and not a symbolic link to a file.
func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// trusted returns an error unless the user or the system's administrator owns each path. An administrator who got the
// rights by sudo also trusts the user who called sudo.
func trusted(paths ...string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("find the platform's repository: %w", err)
		}
		if owner, ok := ownerOf(info); ok && !isTrusted(owner, os.Geteuid(), os.Getenv("SUDO_UID")) {
			return fmt.Errorf("find the platform's repository: another user (uid %d) owns %s, and its owner decides what strata runs: "+
				"use a repository of your own, or run `chown` if you trust the files", owner, path)
		}
	}
	return nil
}

// isTrusted reports whether a user with the ID me, who called sudo as the user with the ID sudo, trusts files of owner.
func isTrusted(owner, me int, sudo string) bool {
	return owner == me || owner == 0 || me == 0 && strconv.Itoa(owner) == sudo
}

func ownerOf(info fs.FileInfo) (uid int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}
