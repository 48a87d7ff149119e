package local

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/strata-platform/strata/internal/local/layerconfig"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/repositories"
	"github.com/strata-platform/strata/internal/publish"
)

// PlatformPublication returns how to publish the platform's artifacts to the home's registry: as the engineer, with the platform's key.
func (p *Platform) PlatformPublication(ctx context.Context) (publish.Options, error) {
	if p.Home.Source() != home.OCISource {
		return publish.Options{}, fmt.Errorf("publish the platform: Flux applies the platform's Git repository: run `%s` first", p.Home.Call("up --source "+home.OCISource))
	}
	running, err := p.client.Status(ctx)
	if err != nil {
		return publish.Options{}, fmt.Errorf("publish the platform: %w: run `%s` first", err, p.Home.Call("up"))
	}
	all, err := p.repositories(running)
	if err != nil {
		return publish.Options{}, err
	}
	password, err := all.Password(gitserver.Engineer)
	if err != nil {
		return publish.Options{}, err
	}
	folders, err := p.Repository.PlatformFolders()
	if err != nil {
		return publish.Options{}, err
	}
	key, err := layerconfig.Key(p.Home, repositories.Platform)
	return publish.Options{
		Dir: p.Repository.Root, Folders: folders, Repository: all.Registry + "/" + repositories.PlatformArtifacts, Insecure: true,
		Login: &authn.Basic{Username: gitserver.Engineer, Password: password}, Key: key,
	}, err
}

// Publication returns how to publish artifacts of a team to the home's registry: as the team, with the team's key.
func (p *Platform) Publication(ctx context.Context, name string) (publish.Options, error) {
	team, err := p.team(name)
	if err != nil {
		return publish.Options{}, err
	}
	if !team.Artifacts() {
		return publish.Options{}, fmt.Errorf("publish artifacts of team %s: Flux applies the team's Git repository: set `source: oci` for the team in teams.yaml, and run `%s`",
			name, p.Home.Call("up"))
	}
	running, err := p.client.Status(ctx)
	if err != nil {
		return publish.Options{}, fmt.Errorf("publish artifacts of team %s: %w: run `%s` first", name, err, p.Home.Call("up"))
	}
	all, err := p.repositories(running)
	if err != nil {
		return publish.Options{}, err
	}
	password, err := all.Password(team.Name)
	if err != nil {
		return publish.Options{}, err
	}
	key, err := layerconfig.Key(p.Home, team.Name)
	if err != nil {
		return publish.Options{}, err
	}
	return publish.Options{
		Repository: all.Registry + "/" + team.ArtifactRepository(), Insecure: true,
		Login: &authn.Basic{Username: team.Name, Password: password}, Key: key,
	}, nil
}
