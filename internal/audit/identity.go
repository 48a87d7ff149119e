package audit

import (
	"slices"
	"strings"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/teams"
)

// Class is a kind of identity. The expected answers depend on it.
type Class string

// Classes of identities.
const (
	Engineer      Class = "engineer"
	Administrator Class = "administrator"
	// Applier is a controller of Flux that applies what it fetches: Flux makes it an administrator.
	Applier Class = "applier"
	// Fetcher is another controller of Flux.
	Fetcher  Class = "fetcher"
	Platform Class = "platform"
	// Operator is the embedded operator, and Upstream is upstream's, which reads every Secret.
	Operator  Class = "operator"
	Upstream  Class = "upstream operator"
	Team      Class = "team"
	Plan      Class = "plan"
	Default   Class = "default"
	Reader    Class = "reader"
	Anonymous Class = "anonymous"
	LocalUser Class = "local user"
)

// Identity is somebody who attempts acts.
type Identity struct {
	Name  string `json:"name"`
	Class Class  `json:"class"`
	// Team is the team that the identity belongs to, and Namespace the namespace of its Kubernetes account.
	Team      string `json:"team,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// May are the permissions that teams.yaml gives an account of a team.
	May []string `json:"may,omitempty"`
	// Kubernetes, Google and Git are the names by which the parts of the platform know the identity. An empty name means that the
	// identity has no account there.
	Kubernetes string `json:"kubernetes,omitempty"`
	Google     string `json:"google,omitempty"`
	Git        string `json:"git,omitempty"`
}

// ServiceAccount returns the user name of a service account.
func ServiceAccount(namespace, name string) string {
	return "system:serviceaccount:" + namespace + ":" + name
}

// unknown is the name of an account that exists where the audit cannot reach it.
const unknown = "unknown"

// AnonymousUser is the user name of requests without credentials.
const AnonymousUser = "system:anonymous"

// Identities returns the identities of a platform. controllers are the service accounts of Flux.
func (s *Site) Identities(controllers []string) []Identity {
	engineer := Identity{Name: "engineer", Class: Engineer, Google: unknown, Git: unknown}
	if s.Google != nil {
		engineer.Google = s.Google.Engineer
	}
	if s.Git != nil {
		engineer.Git = s.Git.Engineer
	}
	operator := Operator
	if s.Upstream {
		operator = Upstream
	}
	list := []Identity{engineer, {Name: "cluster administrator", Class: Administrator, Kubernetes: "administrator"}}
	for _, name := range controllers {
		class := Fetcher
		if slices.Contains([]string{"kustomize-controller", "helm-controller"}, name) {
			class = Applier
		}
		list = append(list, Identity{Name: "Flux's " + name, Class: class, Namespace: fluxcd.Namespace, Kubernetes: ServiceAccount(fluxcd.Namespace, name)})
	}
	own := Identity{Name: "platform", Class: Platform, Namespace: platform.PlatformNamespace, Kubernetes: ServiceAccount(platform.PlatformNamespace, platform.PlatformAccount)}
	if s.Git != nil {
		own.Git = platform.PlatformAccount
	}
	list = append(list, own, Identity{
		Name: "operator", Class: operator, Namespace: platform.OperatorNamespace,
		Kubernetes: ServiceAccount(platform.OperatorNamespace, platform.OperatorAccount),
	})
	for _, team := range s.Tenants {
		list = append(list, s.ofTeam(team)...)
	}
	for _, namespace := range []string{platform.PlatformNamespace, platform.OperatorNamespace} {
		list = append(list, Identity{Name: "default account of " + namespace, Class: Default, Namespace: namespace, Kubernetes: ServiceAccount(namespace, "default")})
	}
	list = append(list, Identity{Name: "anonymous", Class: Anonymous, Kubernetes: AnonymousUser, Google: "allUsers", Git: "-"})
	if s.Machine != nil {
		list = append(list, Identity{Name: "another local user", Class: LocalUser})
	}
	return list
}

// ofTeam returns the identities of a team: its accounts, the account of its plans, and the default account of its namespace.
func (s *Site) ofTeam(team teams.Team) []Identity {
	in := func(name string, class Class, account string) Identity {
		return Identity{Name: name, Class: class, Team: team.Name, Namespace: team.Namespace(), Kubernetes: ServiceAccount(team.Namespace(), account)}
	}
	own := in("team "+team.Name, Team, team.ServiceAccount())
	own.Google, own.May = unknown, team.May
	if s.Google != nil {
		own.Google = s.Google.Account(team)
	}
	switch {
	case s.Git == nil && team.Offer == "":
		own.Git = unknown
	case s.Git != nil && slices.Contains(s.Git.Repositories, team.Name):
		own.Git = team.Name
	}
	list := []Identity{own}
	for _, account := range team.Accounts {
		more := in("team "+team.Name+", account "+account.Name, Team, account.Name)
		more.May = account.May
		list = append(list, more)
	}
	list = append(list, in("plans of "+team.Name, Plan, hop.PlanAccount), in("default account of "+team.Namespace(), Default, "default"))
	if s.Git != nil && own.Git != "" {
		list = append(list, Identity{Name: "reader of repository " + team.Name, Class: Reader, Team: team.Name, Git: s.Git.Reader(team.Name)})
	}
	return list
}

// accountOf splits the user name of a service account.
func accountOf(user string) (namespace, name string, ok bool) {
	parts := strings.Split(user, ":")
	if len(parts) != 4 || parts[0] != "system" || parts[1] != "serviceaccount" {
		return "", "", false
	}
	return parts[2], parts[3], true
}

// Account returns the namespace and the name of the identity's service account.
func (i Identity) Account() (namespace, name string, ok bool) { return accountOf(i.Kubernetes) }
