package gke

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/internal/backup/content"
	"github.com/strata-platform/strata/internal/gke/gitcopy"
	"github.com/strata-platform/strata/platform"
)

// addRepositories adds the repositories of the teams, and that of the platform. Their hosts keep them, so one that cannot be copied is
// left out.
func (c *collector) addRepositories(ctx context.Context) error {
	list, err := c.platform.Teams()
	if err != nil {
		return err
	}
	settings := c.facts.platform
	add := func(name string, from gitcopy.Source) error {
		c.show.Detail("the repository %s", name)
		file := filepath.Join(c.temporary, name+content.Bundled)
		ok, err := gitcopy.Bundle(ctx, from, filepath.Join(c.temporary, name+".git"), file)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			c.Leave("the repository %s: %v", name, err)
		case ok:
			c.AddBundle(name, file)
		}
		return nil
	}
	if !strings.HasPrefix(settings.PlatformURL, "oci://") {
		from := gitcopy.Source{URL: settings.PlatformURL, Username: settings.PlatformUsername, Password: string(settings.PlatformPassword)}
		if err := add("platform", from); err != nil {
			return err
		}
	}
	for _, team := range list {
		if team.Artifacts() || team.Objects() {
			continue
		}
		login := settings.TeamCredentials[team.Name]
		from := gitcopy.Source{URL: strings.ReplaceAll(settings.TeamURL, platform.TeamPlaceholder, team.Name), Username: login.Username, Password: string(login.Password)}
		if err := add(team.Name, from); err != nil {
			return err
		}
	}
	return nil
}
