package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/teamadmin"
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

// CloneTeam returns the arguments of git that clone a team's repository as the team into a folder, and the folder.
func (p *Platform) CloneTeam(ctx context.Context, name, dir string) (args []string, folder string, err error) {
	team, err := p.team(name)
	if err != nil {
		return nil, "", err
	}
	if team.Offer != "" {
		return nil, "", fmt.Errorf("%s is an entry of the catalogue and has no repository: its files are in catalogue/%s of the platform's repository", name, team.Offer)
	}
	running, err := p.client.Status(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("clone the repository of team %s: %w: run `%s` first", name, err, p.Home.Call("up"))
	}
	all, err := p.repositories(running)
	if err != nil {
		return nil, "", err
	}
	if !all.Has(team.Name) {
		return nil, "", fmt.Errorf("team %s has no repository yet: run `%s` first", name, p.Home.Call("up"))
	}
	return all.CloneArguments(team.Name, team.Name, dir), cmp.Or(dir, team.Name), nil
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
