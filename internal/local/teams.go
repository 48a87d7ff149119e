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

	"github.com/strata-platform/strata/internal/local/gitserver"
	"github.com/strata-platform/strata/internal/local/supervisor"
	"github.com/strata-platform/strata/teams"
)

// TeamChange is what adding or removing a team did.
type TeamChange struct {
	// Team is the team's name.
	Team string `json:"team"`
	// File is the path of the changed teams.yaml, and Diff its change, as diff -u has it.
	File string `json:"file"`
	Diff string `json:"diff"`
	// Commit is the id of the commit that holds the change; empty where none was asked for.
	Commit string `json:"commit,omitempty"`
	// Repository is the address of the team's repository; empty where nothing runs in the home, or the team has none.
	Repository string `json:"repository,omitempty"`
	// Clone is a command that clones it.
	Clone string `json:"clone,omitempty"`
	// Kept says that the repository was there before, or stays behind, with its content.
	Kept bool `json:"kept,omitempty"`
	// Next is the command that carries the change out.
	Next string `json:"next"`
}

// AddTeam writes a team into teams.yaml and, where the home's supervisor runs, makes its repository. commit also commits
// teams.yaml, and nothing else. What is refused has changed nothing.
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
		return change, fmt.Errorf("team %s is in %s, but it has no repository yet: %w: `%s` makes that, too", team.Name, change.File, err, p.Home.Call("up"))
	}
	return change, nil
}

// RemoveTeam takes a team out of teams.yaml. It refuses while the team has Stacks, and where it cannot find out whether it
// has. commit also commits teams.yaml, and nothing else. What is refused has changed nothing.
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

// lockExisting is Lock where there is a home. Without one there is nothing that could change at the same time.
func (p *Platform) lockExisting() (release func(), err error) {
	if !p.Home.Exists() {
		return func() {}, nil
	}
	return p.Lock()
}

// hasNoStacks is an error while a team has Stacks, or where nobody can tell.
func (p *Platform) hasNoStacks(ctx context.Context, team teams.Team) error {
	if !p.Made(PlatformLayer) {
		return nil
	}
	running, err := p.client.Status(ctx)
	if err == nil && running.Cluster != supervisor.ClusterRunning {
		err = fmt.Errorf("the cluster is %s", running.Cluster)
	}
	var all []string
	if err == nil {
		all, err = p.stacksIn(ctx, team.Namespace())
	}
	if err != nil {
		return fmt.Errorf("the cluster cannot be asked whether the team has Stacks: %w: run `%s` first", err, p.Home.Call("up"))
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("these Stacks of the team live: %s: remove them from the team's repository, push, and run this again once `%s` shows none",
		strings.Join(all, ", "), p.Home.Call("team list"))
}

// inTeamsFile lets an error name teams.yaml.
func (p *Platform) inTeamsFile(content []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.teamsFile(), err)
	}
	return content, nil
}

// changeTeams changes teams.yaml: verb says what is done with the team. Where change fails nothing is written.
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

// replaceFile replaces the content of a file in one step; its mode stays.
func replaceFile(path string, content []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
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

// committed is an error where a file of the clone is not as the last commit has it: a commit of it would take along what
// somebody else has begun.
func (p *Platform) committed(ctx context.Context, name string) error {
	changed, err := p.userGit(ctx, "status", "--porcelain", "--", name)
	if err == nil && changed != "" {
		err = fmt.Errorf("%s has changes that are not committed: commit them first, or leave out --commit", name)
	}
	return err
}

// commit commits one file of the clone, as its user, and returns the commit's id. What else is changed, or in the index,
// stays as it is.
func (p *Platform) commit(ctx context.Context, name, message string) (string, error) {
	if _, err := p.userGit(ctx, "commit", "--quiet", "--message="+message, "--only", "--", name); err != nil {
		return "", err
	}
	return p.userGit(ctx, "rev-parse", "HEAD")
}

// userGit runs git in the clone as its user, with that user's name, settings and hooks.
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

// hasRepository tells whether the home has a repository.
func (p *Platform) hasRepository(name string) bool {
	_, err := os.Stat(filepath.Join(p.Home.Git(), name+".git"))
	return err == nil
}
