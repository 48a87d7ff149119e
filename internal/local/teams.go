package local

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

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/teams"
)

// TeamChange is the result of adding or removing a team.
type TeamChange struct {
	// Team is the team's name.
	Team string `json:"team"`
	// File is the path of the changed teams.yaml. Diff is the change in the format of diff -u.
	File string `json:"file"`
	Diff string `json:"diff"`
	// Commit is the ID of the commit with the change. It is empty if the caller asked for none.
	Commit string `json:"commit,omitempty"`
	// Repository is the URL of the team's repository. It is empty if the supervisor does not run, or the team has no
	// repository.
	Repository string `json:"repository,omitempty"`
	// Clone is a command that clones the repository.
	Clone string `json:"clone,omitempty"`
	// Kept is true if the team's repository existed before AddTeam, or stays after RemoveTeam, with its content.
	Kept bool `json:"kept,omitempty"`
	// Next is the command that applies the change.
	Next string `json:"next"`
}

// AddTeam adds a team to teams.yaml and, if the home's supervisor runs, creates its repository. With commit, it also
// commits teams.yaml and no other file. If it fails, it changes nothing.
func (p *Platform) AddTeam(ctx context.Context, team teams.Team, commit bool) (TeamChange, error) {
	release, err := p.lockExisting()
	if err != nil {
		return TeamChange{}, err
	}
	defer release()
	change, err := p.changeTeams(ctx, "add", team.Name, commit, func(content []byte) ([]byte, error) {
		return p.inTeamsFile(teams.Add(content, team))
	})
	if err != nil {
		return TeamChange{}, fmt.Errorf("team %s was not added: %w", team.Name, err)
	}
	running, err := p.client.Status(ctx)
	if errors.Is(err, supervisor.ErrNotRunning) {
		return change, nil
	}
	if err == nil {
		change.Repository, change.Clone = repositoryURL(running, team.Name), p.CloneCommand(running, team.Name, team.Name)
		change.Kept = p.hasRepository(team.Name)
		err = p.ensureTeamRepositories(ctx, running)
	}
	if err != nil {
		return change, fmt.Errorf("team %s is in %s, but it has no repository yet: %w: run `%s`, which creates the repository too", team.Name, change.File, err, p.Home.Call("up"))
	}
	return change, nil
}

// RemoveTeam removes a team from teams.yaml. It fails if the team has Stacks, or if it cannot read the cluster. With commit,
// it also commits teams.yaml and no other file. If it fails, it changes nothing.
func (p *Platform) RemoveTeam(ctx context.Context, name string, commit bool) (TeamChange, error) {
	release, err := p.lockExisting()
	if err != nil {
		return TeamChange{}, err
	}
	defer release()
	change, err := p.changeTeams(ctx, "remove", name, commit, func(content []byte) ([]byte, error) {
		after, err := p.inTeamsFile(teams.Remove(content, name))
		if err != nil {
			return nil, err
		}
		return after, p.hasNoStacks(ctx, teams.Team{Name: name})
	})
	if err != nil {
		return TeamChange{}, fmt.Errorf("team %s was not removed: %w", name, err)
	}
	running, err := p.client.Status(ctx)
	if err == nil && p.hasRepository(name) {
		change.Repository, change.Clone, change.Kept = repositoryURL(running, name), p.CloneCommand(running, name, gitserver.Engineer), true
	}
	return change, nil
}

// lockExisting is Lock if the home exists. Without a home, no other command can change anything.
func (p *Platform) lockExisting() (release func(), err error) {
	if !p.Home.Exists() {
		return func() {}, nil
	}
	return p.Lock()
}

// hasNoStacks returns an error if the team has Stacks, or if the cluster is not readable.
func (p *Platform) hasNoStacks(ctx context.Context, team teams.Team) error {
	if !p.Made(lifecycle.PlatformLayer) {
		return nil
	}
	running, err := p.client.Status(ctx)
	if err == nil && running.Cluster != supervisor.ClusterRunning {
		err = fmt.Errorf("the cluster is %s", running.Cluster)
	}
	var all []string
	if err == nil {
		all, err = lifecycle.New(p).StacksIn(ctx, team.Namespace())
	}
	if err != nil {
		return fmt.Errorf("cannot list the team's Stacks: %w: run `%s` first", err, p.Home.Call("up"))
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("the team still has the Stacks %s: remove them from the team's repository, push, and run this again once `%s` shows none",
		strings.Join(all, ", "), p.Home.Call("team list"))
}

// inTeamsFile adds the path of teams.yaml to an error.
func (p *Platform) inTeamsFile(content []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.teamsFile(), err)
	}
	return content, nil
}

// changeTeams changes teams.yaml. verb names the change of the team. If change fails, changeTeams writes nothing.
func (p *Platform) changeTeams(ctx context.Context, verb, team string, commit bool, change func([]byte) ([]byte, error)) (TeamChange, error) {
	path := p.teamsFile()
	before, err := os.ReadFile(path)
	if err != nil {
		return TeamChange{}, err
	}
	after, err := change(before)
	if err != nil {
		return TeamChange{}, err
	}
	name := filepath.Base(path)
	result := TeamChange{Team: team, File: path, Diff: string(diff.Diff("a/"+name, before, "b/"+name, after)), Next: p.Home.Call("up")}
	if commit {
		// The check precedes the write, which would itself be a difference.
		if err := p.committed(ctx, name); err != nil {
			return TeamChange{}, err
		}
	}
	if err := replaceFile(path, after); err != nil {
		return TeamChange{}, err
	}
	if !commit {
		return result, nil
	}
	if result.Commit, err = p.commit(ctx, name, "teams: "+verb+" "+team); err != nil {
		return TeamChange{}, errors.Join(err, replaceFile(path, before))
	}
	return result, nil
}

// replaceFile atomically replaces the content of a file and keeps its mode.
func replaceFile(path string, content []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	// Only a rename in the same folder is atomic.
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(content)
	if err == nil {
		err = file.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// committed returns an error if a file of the clone differs from the last commit. A commit of the file would include
// these unfinished changes of the user.
func (p *Platform) committed(ctx context.Context, name string) error {
	changed, err := p.userGit(ctx, "status", "--porcelain", "--", name)
	if err == nil && changed != "" {
		err = fmt.Errorf("%s has changes that are not committed: commit them first, or leave out --commit", name)
	}
	return err
}

// commit commits one file of the clone, as its user, and returns the commit's ID. Other changed files, and the index,
// stay as they are.
func (p *Platform) commit(ctx context.Context, name, message string) (string, error) {
	if _, err := p.userGit(ctx, "commit", "--quiet", "--message="+message, "--only", "--", name); err != nil {
		return "", err
	}
	return p.userGit(ctx, "rev-parse", "HEAD")
}

// userGit runs git in the clone as its user, with the user's name, settings and hooks.
func (p *Platform) userGit(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = p.Root
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.Join(strings.Fields(stderr.String()), " "))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// hasRepository reports whether the home has a repository.
func (p *Platform) hasRepository(name string) bool {
	_, err := os.Stat(filepath.Join(p.Home.Git(), name+".git"))
	return err == nil
}
