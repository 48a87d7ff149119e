// Package origins turns settings of layer 2 and fields of teams.yaml into the sources that Flux fetches.
package origins

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
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
}

// ociScheme begins the address of a repository in a registry.
const ociScheme = "oci://"

// Problems returns the problems of the settings.
func (a Artifacts) Problems() []string {
	var problems []string
	if a.URL != "" {
		host, path, _ := strings.Cut(strings.TrimPrefix(a.URL, ociScheme), "/")
		if !strings.HasPrefix(a.URL, ociScheme) || host == "" || path == "" || strings.ContainsAny(a.URL, "@ ") {
			problems = append(problems, "artifactUrl is not the address of a repository without a tag and a login, such as oci://registry.example.com/team-{team}/deploy")
		}
		if !strings.Contains(a.URL, TeamPlaceholder) {
			problems = append(problems, fmt.Sprintf("artifactUrl does not contain %s: teams would share a repository", TeamPlaceholder))
		}
	}
	for _, team := range slices.Sorted(maps.Keys(a.Credentials)) {
		if login := a.Credentials[team]; login.Username == "" || login.Password == "" {
			problems = append(problems, fmt.Sprintf("artifactCredentials.%s needs both username and password", team))
		}
	}
	return problems
}

// Of returns the artifacts of a team, or nil if Flux applies the team's Git repository.
func (a Artifacts) Of(team teams.Team) (*hop.Artifact, error) {
	if !team.Artifacts() {
		return nil, nil
	}
	if a.URL == "" {
		return nil, fmt.Errorf("team %s has source: %s in %s, and the setting artifactUrl is empty: set it to the registry's address", team.Name, team.Source, a.TeamsFile)
	}
	keys := map[string]string{}
	if key := a.Keys[team.Name]; key != "" {
		keys["strata.pub"] = key
	}
	maps.Copy(keys, publicKeys(team.Publishers))
	if len(keys) == 0 {
		return nil, fmt.Errorf("team %s has source: %s in %s, and no public key: list one in publishers", team.Name, team.Source, a.TeamsFile)
	}
	made := &hop.Artifact{
		URL:      pulumi.String(strings.ReplaceAll(a.URL, TeamPlaceholder, team.Name)),
		Versions: pulumi.String(team.Versions), Keys: keys, Insecure: a.Insecure,
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

// Publishers are the public keys, of OpenPGP or SSH, that sign the commits of the platform repository. Without any, the commits
// need no signatures.
type Publishers []string

// Problems returns the problems of a setting with the given name.
func (p Publishers) Problems(setting string) []string {
	var problems []string
	for i, key := range p {
		if suffix := teams.KeySuffix(key); suffix != ".asc" && suffix != ".sshpub" {
			problems = append(problems, fmt.Sprintf("%s[%d] is neither a public key of OpenPGP, as `gpg --armor --export` prints it, nor one of SSH", setting, i))
		}
	}
	return problems
}

// Hop returns the signatures that a hop from the platform repository needs, nil if it needs none.
func (p Publishers) Hop() *hop.Verification {
	if len(p) == 0 {
		return nil
	}
	return &hop.Verification{Mode: fluxcd.VerifyCommit, Keys: publicKeys(p)}
}

// Secret returns the data of a Secret with the keys. Flux would keep trusting a key that has been removed from stringData.
func (p Publishers) Secret() pulumi.StringMap {
	data := pulumi.StringMap{}
	for name, key := range publicKeys(p) {
		data[name] = pulumi.String(base64.StdEncoding.EncodeToString([]byte(key)))
	}
	return data
}
