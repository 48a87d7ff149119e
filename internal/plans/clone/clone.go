// Package clone reads commits from a clone of a team's repository, and builds their Plans.
package clone

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/strata-platform/strata/internal/gittree"
	"github.com/strata-platform/strata/internal/lint"
	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/plans"
	"github.com/strata-platform/strata/operator/plan"
)

const (
	// mostFiles and mostBytes bound the files of a commit, as `strata check` does.
	mostFiles = 20_000
	mostBytes = 256 << 20
)

// Clone is a clone of a repository.
type Clone struct{ root string }

// Open returns the clone that contains a folder.
func Open(ctx context.Context, folder string) (*Clone, error) {
	c := &Clone{folder}
	root, err := c.git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("%s is in no clone of a Git repository: go to a clone of the team's repository: %w", folder, err)
	}
	return &Clone{root}, nil
}

// Root returns the root folder of the clone.
func (c *Clone) Root() string { return c.root }

// command returns a git command that starts no program of the clone's configuration, changes nothing, and fetches nothing.
func (c *Clone) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", c.root, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}, args...)...)
	// A replacement would build other files than those of the commit (git-replace(1)).
	command.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
	return command
}

func (c *Clone) git(ctx context.Context, args ...string) (string, error) {
	command := c.command(ctx, args...)
	var failure bytes.Buffer
	command.Stderr = &failure
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.Join(strings.Fields(failure.String()), " "))
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// Commit returns the commit that a name of Git refers to; an empty name means HEAD. The commit's branch is the named one, or that of the
// remote.
func (c *Clone) Commit(ctx context.Context, name string) (plans.Commit, error) {
	if name == "" {
		name = "HEAD"
	}
	id, err := c.git(ctx, "rev-parse", "--verify", "--end-of-options", name+"^{commit}")
	if err != nil {
		return plans.Commit{}, fmt.Errorf("%q is no commit of the clone %s: name a branch, a tag or a commit: %w", name, c.root, err)
	}
	full, err := c.git(ctx, "rev-parse", "--symbolic-full-name", "--end-of-options", name)
	if err != nil {
		return plans.Commit{}, err
	}
	// This option prints itself, like everything that is no option of rev-parse.
	full = strings.TrimPrefix(full, "--end-of-options\n")
	branch, ok := strings.CutPrefix(full, "refs/heads/")
	if remote, ofRemote := strings.CutPrefix(full, "refs/remotes/"); ofRemote {
		_, branch, ok = strings.Cut(remote, "/")
	}
	if !ok {
		branch = ""
	}
	return plans.Commit{Branch: branch, ID: id}, nil
}

// Branches returns the names of the clone's branches.
func (c *Clone) Branches(ctx context.Context) ([]string, error) {
	out, err := c.git(ctx, "for-each-ref", "--format=%(refname:short)", "refs/heads")
	return strings.Fields(out), err
}

// Uncommitted returns the number of files that differ from HEAD, or that no commit contains.
func (c *Clone) Uncommitted(ctx context.Context) (int, error) {
	out, err := c.git(ctx, "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return 0, err
	}
	if out == "" {
		return 0, nil
	}
	return strings.Count(out, "\n") + 1, nil
}

// Plans builds the Plans of a commit: one for each sync. It returns an error if the Git server would reject the commit, or if Flux could
// not build it.
func (c *Clone) Plans(ctx context.Context, commit plans.Commit, syncs []plans.Sync) ([]*plan.Plan, error) {
	objects, err := gittree.Open(ctx, c.command, mostFiles)
	if err != nil {
		return nil, fmt.Errorf("read the clone %s: %w", c.root, err)
	}
	defer objects.Close()
	tree, err := objects.TreeOf(commit.ID)
	if err != nil {
		return nil, err
	}
	total, err := objects.Total(tree)
	if err != nil {
		return nil, fmt.Errorf("read commit %.10s: %w", commit.ID, err)
	}
	if total.Files > mostFiles || total.Bytes > mostBytes {
		return nil, fmt.Errorf("commit %.10s has more than %d files or %d MB: split the repository", commit.ID, mostFiles, mostBytes>>20)
	}
	temporary, err := os.MkdirTemp("", "strata-plan-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temporary)
	judge, err := trial.Start(ctx, temporary, trial.DefaultLimits())
	if err != nil {
		return nil, err
	}
	defer judge.Close()
	problems, err := judge.Check(objects.FS(tree))
	if err := problem(commit, problems, err); err != nil {
		return nil, err
	}
	var all []*plan.Plan
	for _, sync := range syncs {
		problems, built, err := judge.Manifests(objects.FS(tree), sync.Spec)
		if err := problem(commit, problems, err); err != nil {
			return nil, err
		}
		made, err := plans.New(commit, sync, built)
		if err != nil {
			return nil, fmt.Errorf("plan commit %.10s for %s: %w", commit.ID, sync, err)
		}
		all = append(all, made)
	}
	return all, nil
}

// ErrRejected means that the Git server would reject a push of the commit.
var ErrRejected = errors.New("the Git server rejects it")

// problem returns the error of a trial, or the first of its problems.
func problem(commit plans.Commit, problems []lint.Problem, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("build commit %.10s: %w", commit.ID, err)
	case len(problems) > 0:
		return fmt.Errorf("commit %.10s: %w: %s: `strata check` shows all reasons", commit.ID, ErrRejected, problems[0])
	}
	return nil
}
