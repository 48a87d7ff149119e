// Package origins turns settings of layer 2 and fields of teams.yaml into the sources that Flux fetches.
package origins

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/teams"
)

// TeamPlaceholder stands for a team's name in an address.
const TeamPlaceholder = "{team}"

// Credentials are a login to a Git server or a registry.
type Credentials struct {
	// Username and Password are both required.
	Username string         `json:"username"`
	Password handoff.Secret `json:"password"`
}

// Artifacts are the settings for the artifacts of teams. The fields are those of platform.Config with the same names.
type Artifacts struct {
	URL         string
	Insecure    bool
	Keys        map[string]string
	Credentials map[string]Credentials
	TeamsFile   string
	// TrustedRoot is that of platform.Config.ArtifactTrustedRoot.
	TrustedRoot string
}

// ociScheme begins the address of a repository in a registry.
const ociScheme = "oci://"

// Problems returns the problems of the settings.
func (a Artifacts) Problems() []string {
	var problems []string
	if a.URL != "" {
		if !isRepository(a.URL) {
			problems = append(problems, "artifactUrl is not the address of a repository without a tag and a login, such as oci://registry.example.com/team-{team}/deploy")
		}
		if !strings.Contains(a.URL, TeamPlaceholder) {
			problems = append(problems, fmt.Sprintf("artifactUrl does not contain %s: teams would share a repository", TeamPlaceholder))
		}
	}
	if a.TrustedRoot != "" && !json.Valid([]byte(a.TrustedRoot)) {
		problems = append(problems, "artifactTrustedRoot is not the content of a trusted_root.json")
	}
	for _, team := range slices.Sorted(maps.Keys(a.Credentials)) {
		if login := a.Credentials[team]; login.Username == "" || login.Password == "" {
			problems = append(problems, fmt.Sprintf("artifactCredentials.%s needs both username and password", team))
		}
	}
	return problems
}

// isRepository reports whether an address is that of a repository in a registry, without a tag and a login.
func isRepository(address string) bool {
	rest, isOCI := strings.CutPrefix(address, ociScheme)
	host, path, _ := strings.Cut(rest, "/")
	return isOCI && host != "" && path != "" && !strings.ContainsAny(path, ":@ ") && !strings.ContainsAny(host, "@ ")
}

// Of returns the artifacts of a team, or nil if Flux applies the team's Git repository.
func (a Artifacts) Of(team teams.Team) (*hop.Artifact, error) {
	if !team.Artifacts() {
		return nil, nil
	}
	if a.URL == "" {
		return nil, fmt.Errorf("team %s has source: %s in %s, and the setting artifactUrl is empty: set it to the registry's address", team.Name, team.Source, a.TeamsFile)
	}
	made := &hop.Artifact{
		URL:      pulumi.String(strings.ReplaceAll(a.URL, TeamPlaceholder, team.Name)),
		Versions: pulumi.String(team.Versions), Insecure: a.Insecure,
	}
	if by := team.Identity; by != nil {
		made.Identity = &hop.Identity{Issuer: by.Issuer, Subject: by.Subject, TrustedRoot: a.TrustedRoot}
	} else {
		made.Keys = publicKeys(team.Publishers)
		if key := a.Keys[team.Name]; key != "" {
			made.Keys["strata.pub"] = key
		}
		if len(made.Keys) == 0 {
			return nil, fmt.Errorf("team %s has source: %s in %s, and neither a public key nor an identity: list a key in publishers", team.Name, team.Source, a.TeamsFile)
		}
	}
	if login, private := a.Credentials[team.Name]; private {
		made.Username, made.Password = pulumi.String(login.Username), login.Password.Input()
	}
	return made, nil
}

// publicKeys returns public keys by the names under which Flux looks for them in a Secret.
func publicKeys(list []string) map[string]string {
	keys := map[string]string{}
	for i, key := range list {
		keys[fmt.Sprintf("publisher-%d%s", i, teams.KeySuffix(key))] = key
	}
	return keys
}

// Verification returns the signatures that a team's Git repository needs, nil if it needs none.
func Verification(team teams.Team) *hop.Verification {
	if team.Verify == "" {
		return nil
	}
	return &hop.Verification{Mode: team.Verify, Keys: publicKeys(team.Publishers)}
}
