package teamadmin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/teams"
)

// Change is the result of adding or removing a team.
type Change struct {
	// Team is the team's name.
	Team string `json:"team"`
	// File is the path of the changed teams.yaml. Diff is the change in the format of diff -u.
	File string `json:"file"`
	Diff string `json:"diff"`
	// Commit is the ID of the commit with the change. It is empty if the caller asked for none.
	Commit string `json:"commit,omitempty"`
	Repository
	// Next is the command that applies the change.
	Next string `json:"next"`
}

// Repository is the repository of a team. Its zero value means that the target's Git server does not run, or that the team
// has no repository.
type Repository struct {
	// URL is the URL of the repository.
	URL string `json:"repository,omitempty"`
	// Clone is a command that clones the repository.
	Clone string `json:"clone,omitempty"`
	// Kept is true if the team's repository existed before Add, or stays after Remove, with its content.
	Kept bool `json:"kept,omitempty"`
}

// Add adds a team to teams.yaml and, if the target's Git server runs, creates its repository. With commit, it also commits
// teams.yaml and no other file. If it fails before it creates the repository, it changes nothing.
func (a *Admin) Add(ctx context.Context, team teams.Team, commit bool) (Change, error) {
	release, err := a.lockExisting()
	if err != nil {
		return Change{}, err
	}
	defer release()
	change, err := a.changeTeams(ctx, "add", team.Name, commit, func(content []byte) ([]byte, error) {
		return a.inTeamsFile(teams.Add(content, team))
	})
	if err != nil {
		return Change{}, fmt.Errorf("team %s was not added: %w", team.Name, err)
	}
	if change.Repository, err = a.target.EnsureRepository(ctx, team.Name); err != nil {
		return change, fmt.Errorf("team %s is in %s, but it has no repository yet: %w: run `%s`, which creates the repository too",
			team.Name, change.File, err, change.Next)
	}
	return change, nil
}

// Remove removes a team from teams.yaml. It fails if the team has Stacks, or if it cannot read the cluster. With commit,
// it also commits teams.yaml and no other file. If it fails, it changes nothing.
func (a *Admin) Remove(ctx context.Context, name string, commit bool) (Change, error) {
	release, err := a.lockExisting()
	if err != nil {
		return Change{}, err
	}
	defer release()
	change, err := a.changeTeams(ctx, "remove", name, commit, func(content []byte) ([]byte, error) {
		after, err := a.inTeamsFile(teams.Remove(content, name))
		if err != nil {
			return nil, err
		}
		return after, a.hasNoStacks(ctx, teams.Team{Name: name})
	})
	if err != nil {
		return Change{}, fmt.Errorf("team %s was not removed: %w", name, err)
	}
	change.Repository = a.target.KeptRepository(ctx, name)
	return change, nil
}

// lockExisting is Lock if the platform may exist. Without a platform, no other command can change anything.
func (a *Admin) lockExisting() (release func(), err error) {
	if !a.Exists() {
		return func() {}, nil
	}
	return a.Lock()
}

// hasNoStacks returns an error if the team has Stacks or orders of the catalogue, or if the cluster is not readable. An order has
// its Stack in another namespace, and loses it with the team.
func (a *Admin) hasNoStacks(ctx context.Context, team teams.Team) error {
	if !a.Made(lifecycle.PlatformLayer) {
		return nil
	}
	call := a.About().Call
	why, err := a.target.Stopped(ctx)
	if err == nil && why != "" {
		err = errors.New(why)
	}
	var all []string
	if err == nil {
		all, err = a.StacksIn(ctx, team.Namespace())
	}
	if err != nil {
		return fmt.Errorf("cannot list the team's Stacks: %w: run `%s` first", err, call("up"))
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("the team still has Stacks or orders (%s): remove them from the team's repository, push, and run this again once `%s` shows none",
		strings.Join(all, ", "), call("team list"))
}

// inTeamsFile adds the path of teams.yaml to an error.
func (a *Admin) inTeamsFile(content []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.About().TeamsFile, err)
	}
	return content, nil
}
