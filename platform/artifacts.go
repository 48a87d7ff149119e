package platform

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/teams"
)

// ociScheme begins the address of a repository in a registry.
const ociScheme = "oci://"

// artifactProblems returns the problems of the settings for artifacts.
func (c Config) artifactProblems() []string {
	var problems []string
	if c.ArtifactURL != "" {
		host, path, _ := strings.Cut(strings.TrimPrefix(c.ArtifactURL, ociScheme), "/")
		if !strings.HasPrefix(c.ArtifactURL, ociScheme) || host == "" || path == "" || strings.ContainsAny(c.ArtifactURL, "@ ") {
			problems = append(problems, "artifactUrl is not the address of a repository without a tag and a login, such as oci://registry.example.com/team-{team}/deploy")
		}
		if !strings.Contains(c.ArtifactURL, TeamPlaceholder) {
			problems = append(problems, fmt.Sprintf("artifactUrl does not contain %s: teams would share a repository", TeamPlaceholder))
		}
	}
	for _, team := range slices.Sorted(maps.Keys(c.ArtifactCredentials)) {
		if login := c.ArtifactCredentials[team]; login.Username == "" || login.Password == "" {
			problems = append(problems, fmt.Sprintf("artifactCredentials.%s needs both username and password", team))
		}
	}
	return problems
}

// artifact returns the artifacts of a team, or nil if Flux applies the team's Git repository.
func (c Config) artifact(team teams.Team) (*hop.Artifact, error) {
	if !team.Artifacts() {
		return nil, nil
	}
	if c.ArtifactURL == "" {
		return nil, fmt.Errorf("team %s has source: %s in %s, and the setting artifactUrl is empty: set it to the registry's address", team.Name, team.Source, c.TeamsFile)
	}
	keys := map[string]string{}
	if key := c.ArtifactKeys[team.Name]; key != "" {
		keys["strata.pub"] = key
	}
	maps.Copy(keys, publishers(team))
	if len(keys) == 0 {
		return nil, fmt.Errorf("team %s has source: %s in %s, and no public key: list one in publishers", team.Name, team.Source, c.TeamsFile)
	}
	made := &hop.Artifact{
		URL:      pulumi.String(strings.ReplaceAll(c.ArtifactURL, TeamPlaceholder, team.Name)),
		Versions: pulumi.String(team.Versions), Keys: keys, Insecure: c.ArtifactInsecure,
	}
	if login, private := c.ArtifactCredentials[team.Name]; private {
		made.Username, made.Password = pulumi.String(login.Username), login.Password.Input()
	}
	return made, nil
}

// publishers returns the public keys in teams.yaml by the names under which Flux looks for them.
func publishers(team teams.Team) map[string]string {
	keys := map[string]string{}
	for i, key := range team.Publishers {
		keys[fmt.Sprintf("publisher-%d%s", i, teams.KeySuffix(key))] = key
	}
	return keys
}

// verification returns the signatures that a team's Git repository needs, nil if it needs none.
func verification(team teams.Team) *hop.Verification {
	if team.Verify == "" {
		return nil
	}
	return &hop.Verification{Mode: team.Verify, Keys: publishers(team)}
}
