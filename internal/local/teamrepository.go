package local

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/teamadmin"
	"github.com/strata-platform/strata/internal/terminal"
)

var _ teamadmin.Target = (*Platform)(nil)

// GoogleProject returns the ID of the emulated project.
func (p *Platform) GoogleProject() string { return home.Project }

// Stopped returns why the cluster cannot be read; empty if the cluster runs.
func (p *Platform) Stopped(ctx context.Context) (why string, err error) {
	running, err := p.client.Status(ctx)
	switch {
	case errors.Is(err, supervisor.ErrNotRunning):
		return "nothing runs in " + p.Home.Dir(), nil
	case err != nil:
		return "", err
	case running.Cluster != supervisor.ClusterRunning:
		return "the cluster is " + string(running.Cluster), nil
	}
	return "", nil
}

// EnsureRepository creates the repository of a team of teams.yaml, with its first files, if the supervisor runs.
func (p *Platform) EnsureRepository(ctx context.Context, team string) (teamadmin.Repository, error) {
	running, err := p.client.Status(ctx)
	if errors.Is(err, supervisor.ErrNotRunning) {
		return teamadmin.Repository{}, nil
	}
	if err != nil {
		return teamadmin.Repository{}, err
	}
	list, err := p.Teams()
	if err != nil {
		return teamadmin.Repository{}, err
	}
	all, err := p.repositories(running)
	if err != nil {
		return teamadmin.Repository{}, err
	}
	repository := teamadmin.Repository{URL: all.Address(team), Clone: all.CloneCommand(team, team), Kept: all.Has(team)}
	return repository, all.EnsureTeams(ctx, list)
}

// longestError is the maximum number of characters of Git's error.
const longestError = 1000

// CloneTeam clones a team's repository, as the team, into a folder, and returns the folder. An empty dir means the team's name.
func (p *Platform) CloneTeam(ctx context.Context, name, dir string) (folder string, err error) {
	team, err := p.team(name)
	if err != nil {
		return "", err
	}
	running, err := p.client.Status(ctx)
	if err != nil {
		return "", fmt.Errorf("clone the repository of team %s: %w: run `%s` first", name, err, p.Home.Call("up"))
	}
	all, err := p.repositories(running)
	if err != nil {
		return "", err
	}
	if !all.Has(team.Name) {
		return "", fmt.Errorf("team %s has no repository yet: run `%s` first", name, p.Home.Call("up"))
	}
	folder = cmp.Or(dir, team.Name)
	git := exec.CommandContext(ctx, "git", all.CloneArguments(team.Name, team.Name, folder)...)
	var stderr bytes.Buffer
	// Without a password git fails, and asks no terminal.
	git.Env, git.Stderr = append(os.Environ(), "GIT_TERMINAL_PROMPT=0"), &stderr
	if err := git.Run(); err != nil {
		said := terminal.Line(strings.TrimSpace(stderr.String()), longestError)
		return "", fmt.Errorf("clone the repository of team %s into %s: %w", name, folder, errors.Join(errors.New(said), ctx.Err()))
	}
	return folder, nil
}

// KeptRepository returns the repository of a team that is no longer in teams.yaml, if the supervisor runs. The command clones
// it as the engineer.
func (p *Platform) KeptRepository(ctx context.Context, team string) teamadmin.Repository {
	running, err := p.client.Status(ctx)
	if err != nil {
		return teamadmin.Repository{}
	}
	all, err := p.repositories(running)
	if err != nil || !all.Has(team) {
		return teamadmin.Repository{}
	}
	return teamadmin.Repository{URL: all.Address(team), Clone: all.CloneCommand(team, gitserver.Engineer), Kept: true}
}
