package supervisor

import (
	"fmt"
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/images/guard"
	"github.com/strata-platform/strata/internal/local/machine/images/registry"
	"github.com/strata-platform/strata/internal/local/machine/network/outside"
	"github.com/strata-platform/strata/teams"
)

// RegistryPort is the name of the reserved port of the home's registry.
const RegistryPort = "registry"

// openImages opens the images of the home for its pods, and the registry that serves them.
func openImages(h home.Home, logins *gitserver.Logins) (*images.Images, *registry.Server, error) {
	kept, err := images.Open(h.Images(), images.Options{Registry: images.Host, Transport: guard.Transport(outside.Rules{})})
	if err != nil {
		return nil, nil, fmt.Errorf("open the images: %w", err)
	}
	return kept, registry.New(kept.Store(), images.Host, images.Compressed, registryLogin(logins)), nil
}

// teamImages bounds the images that a team pushes, in bytes, so that no team fills the disk that all share.
const teamImages = 20 << 30

// teamNames bounds the tags and digests of a team, so that no team slows the registry down for all. Each push of a new image
// takes two.
const teamNames = 2000

// platformRepository is the name of the platform's repository on the Git server, and of its namespace.
const platformRepository = "platform"

// registryLogin returns the logins of the registry, which are those of the Git server: the engineer may do everything, the
// account of a team may push and pull below the team's namespace, and its reader may pull there. Both may pull what is
// shared. The platform's reader may pull below the platform's namespace.
func registryLogin(logins *gitserver.Logins) registry.Login {
	return func(user, password string) (registry.Grant, bool) {
		if user == "" || !logins.Authentic(user, password) {
			return registry.Grant{}, false
		}
		if user == gitserver.Engineer {
			all := func(string) bool { return true }
			return registry.Grant{Pull: all, Push: all}, true
		}
		team, reads := strings.CutSuffix(user, gitserver.Reader(""))
		namespace := teams.Team{Name: team}.Namespace()
		if team == platformRepository {
			namespace = platformRepository
		}
		grant := registry.Grant{Pull: func(repository string) bool {
			return images.Within(repository, namespace) || images.Within(repository, images.Shared)
		}}
		if !reads {
			grant.Push = func(repository string) bool { return images.Within(repository, namespace) }
			grant.Quota, grant.Names = teamImages, teamNames
		}
		return grant, true
	}
}
