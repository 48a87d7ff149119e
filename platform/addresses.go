package platform

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/strata-platform/strata/platform/origins"
)

// artifacts returns the settings for the artifacts of teams.
func (c Config) artifacts() origins.Artifacts {
	return origins.Artifacts{
		URL: c.ArtifactURL, Insecure: c.ArtifactInsecure, Keys: c.ArtifactKeys, Credentials: c.ArtifactCredentials, TeamsFile: c.TeamsFile,
		TrustedRoot: c.ArtifactTrustedRoot,
	}
}

// platform returns the place that Flux fetches layer 3 from.
func (c Config) platform() origins.Platform {
	return origins.Platform{
		URL: c.PlatformURL, Branch: c.PlatformBranch, Versions: c.PlatformVersions, Publishers: c.PlatformPublishers,
		Insecure: c.ArtifactInsecure, Username: c.PlatformUsername, Password: c.PlatformPassword,
	}
}

// hasReceivers reports whether a Git server can notify Flux of a push.
func (c Config) hasReceivers() bool {
	return slices.Contains(c.FluxComponents, "notification-controller")
}

// sourcePorts returns the ports in the URLs of the repositories.
func (c Config) sourcePorts() []int {
	var ports []int
	for _, address := range []string{c.FleetURL, c.PlatformURL, c.StrataURL, c.teamURL("team"), c.ArtifactURL} {
		parsed, err := url.Parse(address)
		if err != nil {
			continue
		}
		if port, err := strconv.Atoi(parsed.Port()); err == nil && !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	return ports
}

// teamURL returns the URL of a team's repository.
func (c Config) teamURL(team string) string {
	return strings.ReplaceAll(c.TeamURL, TeamPlaceholder, team)
}
