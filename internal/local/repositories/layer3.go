package repositories

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// checkCommit returns an error unless Root is the root of a Git repository with a commit.
func (r Repositories) checkCommit(ctx context.Context) error {
	_, err := r.git(ctx, r.Root, "rev-parse", "--verify", "HEAD")
	if r.Layer3 == nil {
		if err != nil {
			return fmt.Errorf("it is not a Git repository with a commit: clone Strata with git: %w", err)
		}
		return nil
	}
	if err != nil {
		return errors.New("it is not a Git repository with a commit: run `git init --initial-branch=main`, `git add --all` and `git commit` there")
	}
	// The paths in Flux's objects begin at the root of the repository.
	prefix, err := r.git(ctx, r.Root, "rev-parse", "--show-prefix")
	if err == nil && prefix != "" {
		err = fmt.Errorf("it is the folder %s of a larger Git repository: move it to a repository of its own", prefix)
	}
	return err
}

// pushLayer3 gives the repository Strata the commit of Strata's part of the platform.
func (r Repositories) pushLayer3(ctx context.Context) error {
	if r.Layer3 == nil {
		return nil
	}
	if err := r.Create(ctx, Strata); err != nil {
		return err
	}
	head := filepath.Join(r.Home.Git(), Strata+".git", "refs", "heads", filepath.FromSlash(r.Branch))
	if raw, err := os.ReadFile(head); err == nil && strings.TrimSpace(string(raw)) == r.Layer3.Commit() {
		return nil
	}
	work, err := os.MkdirTemp("", "strata-sync-")
	if err != nil {
		return fmt.Errorf("fill the repository %s: %w", Strata, err)
	}
	defer os.RemoveAll(work)
	if err := r.Layer3.CommitIn(ctx, work); err != nil {
		return fmt.Errorf("fill the repository %s: %w", Strata, err)
	}
	// A strata that was built again from changed sources has other files at the same version.
	if _, err := r.git(ctx, work, "push", "--quiet", "--force", r.Address(Strata), "HEAD:refs/heads/"+r.Branch); err != nil {
		return fmt.Errorf("fill the repository %s: %w", Strata, err)
	}
	return nil
}
