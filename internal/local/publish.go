package local

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/strata-platform/strata/internal/local/layerconfig"
	"github.com/strata-platform/strata/internal/publish"
)

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
