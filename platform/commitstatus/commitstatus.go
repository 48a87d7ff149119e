// Package commitstatus turns settings of layer 2 and notify in teams.yaml into what puts the results of plans on commits.
package commitstatus

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/platform/origins"
	"github.com/strata-platform/strata/teams"
)

// Settings are the settings for the statuses of commits.
type Settings struct {
	// Tokens, Proxy, TeamURL and TeamsFile are the fields of platform.Config with these names, without the prefix Notify.
	Tokens             map[string]handoff.Secret
	Proxy              string
	TeamURL, TeamsFile string
	// Readable are the logins in namespaces of teams, by the team.
	Readable map[string]origins.Credentials
	// Notifies says that Flux's notification-controller is installed, and Plans that the operator completes Plans.
	Notifies, Plans bool
}

// repository returns the address of the repository that has the team's commits.
func (s Settings) repository(team teams.Team) string {
	if team.Notify.Repository != "" {
		return team.Notify.Repository
	}
	return strings.ReplaceAll(s.TeamURL, origins.TeamPlaceholder, team.Name)
}

// Check returns the first problem of teams.yaml and the settings together. It quotes no secret.
func (s Settings) Check(list []teams.Team) error {
	if scheme, _, _ := strings.Cut(s.Proxy, "://"); s.Proxy != "" && !slices.Contains([]string{"http", "https", "socks5"}, scheme) {
		return fmt.Errorf("setting notifyProxy must begin with http://, https:// or socks5://: Flux refuses other proxies")
	}
	wanted := map[string]bool{}
	for _, team := range list {
		if team.Notify == nil {
			continue
		}
		wanted[team.Name] = true
		at := fmt.Sprintf("%s sets notify of team %s", s.TeamsFile, team.Name)
		switch problem := team.Notify.RepositoryProblem(s.repository(team)); {
		case !s.Plans:
			return fmt.Errorf("%s, and upstream's operator has no Plans: remove it, or use the embedded operator", at)
		case !s.Notifies:
			return fmt.Errorf("%s, and fluxComponents does not contain notification-controller: add it", at)
		case problem != "":
			return fmt.Errorf("%s without a repository, and the team's own one %s: set notify.repository", at, problem)
		case s.Tokens[team.Name] == "":
			return fmt.Errorf("%s, and the setting notifyTokens has no token of the team: set the token that writes statuses of the repository", at)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tokens)) {
		if !wanted[name] {
			return fmt.Errorf("setting notifyTokens names team %s, which has no notify in %s: add it, or remove the token", name, s.TeamsFile)
		}
		for _, reader := range slices.Sorted(maps.Keys(s.Readable)) {
			if s.Readable[reader].Password == s.Tokens[name] {
				return fmt.Errorf("the token of team %s in the setting notifyTokens is the password of teamCredentials.%s: the team could read it and write statuses", name, reader)
			}
		}
	}
	return nil
}

// Of returns what puts the results of a team's plans on commits, nil if nothing does. The environment is part of the statuses' names: two
// platforms can plan the same commit.
func (s Settings) Of(team teams.Team, environment string) *hop.Notify {
	if team.Notify == nil {
		return nil
	}
	made := &hop.Notify{
		Provider: team.Notify.Provider, Repository: pulumi.String(s.repository(team)), Token: s.Tokens[team.Name].Input(),
		Status: "strata/plan/" + environment + "/" + team.Name,
	}
	if s.Proxy != "" {
		made.Proxy = pulumi.String(s.Proxy)
	}
	return made
}

// Any reports whether the results of any team's plans are put on commits.
func Any(list []teams.Team) bool {
	return slices.ContainsFunc(list, func(team teams.Team) bool { return team.Notify != nil })
}
