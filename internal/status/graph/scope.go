package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/teams"
)

// FluxNamespace is the namespace of Flux.
const FluxNamespace = "flux-system"

// Scope describes a platform to the packages that report on it.
type Scope struct {
	// Teams are the teams of the platform.
	Teams []teams.Team
	// Below are the items of layer 1, which the caller inspects itself, such as the cluster.
	Below []status.Item
	// Engineer is the identity that runs layer 1; empty if unknown.
	Engineer string
	// Heads maps GitRepositories ("namespace/name") to the head revisions of their branches, such as "main@sha1:...". A
	// source with another revision has not fetched the latest push. A source without an entry counts as up to date.
	Heads map[string]string
	// Call returns a command line of strata for messages, such as "strata up --target gke" for "up"; nil means "strata" and
	// the words.
	Call func(words string) string
	// Kubectl is the beginning of kubectl's command lines in messages; empty means "kubectl".
	Kubectl string

	// sources are the kinds of the platform's own sources by their namespaces: see findSources.
	sources map[string]string
}

// Team returns the team that a namespace belongs to.
func (s Scope) Team(namespace string) (teams.Team, bool) {
	i := slices.IndexFunc(s.Teams, func(t teams.Team) bool { return t.Namespace() == namespace })
	if i < 0 {
		return teams.Team{}, false
	}
	return s.Teams[i], true
}

// Owner names the people who can fix an object of a namespace: "team web", or PlatformTeam.
func (s Scope) Owner(namespace string) string {
	if team, ok := s.Team(namespace); ok && team.Offer == "" {
		return "team " + team.Name
	}
	return PlatformTeam
}

// PlatformTeam names the platform team in messages.
const PlatformTeam = "the platform team"

// place returns the position of a namespace within a layer.
func (s Scope) place(namespace string) int {
	order := []string{"", FluxNamespace, platform.PlatformNamespace, platform.OperatorNamespace}
	for _, team := range s.Teams {
		order = append(order, team.Namespace())
	}
	return slices.Index(order, namespace)
}

// Command returns a command line of strata, in backquotes for a message.
func (s Scope) Command(words ...string) string {
	return "`" + s.CommandLine(strings.Join(words, " ")) + "`"
}

// CommandLine returns a command line of strata, such as "strata up" for "up".
func (s Scope) CommandLine(words string) string {
	if s.Call == nil {
		return "strata " + words
	}
	return s.Call(words)
}

// KubectlCommand returns a command line of kubectl, in backquotes for a message.
func (s Scope) KubectlCommand(format string, args ...any) string {
	return "`" + cmp.Or(s.Kubectl, "kubectl") + " " + fmt.Sprintf(format, args...) + "`"
}
