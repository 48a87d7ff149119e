package teamadmin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/strata-platform/strata/internal/atomicfile"
)

// changeTeams changes teams.yaml. verb names the change of the team. If change fails, changeTeams writes nothing.
func (a *Admin) changeTeams(ctx context.Context, verb, team string, commit bool, change func([]byte) ([]byte, error)) (Change, error) {
	path := a.About().TeamsFile
	before, err := os.ReadFile(path)
	if err != nil {
		return Change{}, err
	}
	after, err := change(before)
	if err != nil {
		return Change{}, err
	}
	name := filepath.Base(path)
	result := Change{Team: team, File: path, Diff: string(diff.Diff("a/"+name, before, "b/"+name, after)), Next: a.About().Call("up")}
	if commit {
		// The check precedes the write, which would itself be a difference.
		if err := a.committed(ctx, name); err != nil {
			return Change{}, err
		}
	}
	if err := atomicfile.Replace(path, after); err != nil {
		return Change{}, err
	}
	if !commit {
		return result, nil
	}
	if result.Commit, err = a.commit(ctx, name, "teams: "+verb+" "+team); err != nil {
		return Change{}, errors.Join(err, atomicfile.Replace(path, before))
	}
	return result, nil
}

// committed returns an error if a file of the clone differs from the last commit. A commit of the file would include
// these unfinished changes of the user.
func (a *Admin) committed(ctx context.Context, name string) error {
	changed, err := a.userGit(ctx, "status", "--porcelain", "--", name)
	if err == nil && changed != "" {
		err = fmt.Errorf("%s has changes that are not committed: commit them first, or leave out --commit", name)
	}
	return err
}

// commit commits one file of the clone, as its user, and returns the commit's ID. Other changed files, and the index,
// stay as they are.
func (a *Admin) commit(ctx context.Context, name, message string) (string, error) {
	if _, err := a.userGit(ctx, "commit", "--quiet", "--message="+message, "--only", "--", name); err != nil {
		return "", err
	}
	return a.userGit(ctx, "rev-parse", "HEAD")
}

// userGit runs git in the clone as its user, with the user's name, settings and hooks.
func (a *Admin) userGit(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = filepath.Dir(a.About().TeamsFile)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.Join(strings.Fields(stderr.String()), " "))
	}
	return strings.TrimSpace(stdout.String()), nil
}
