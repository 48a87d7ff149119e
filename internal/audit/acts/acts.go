// Package acts is the catalogue of the acts that an audit attempts, with the expected answer to each identity.
package acts

import (
	"regexp"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/audit"
	"github.com/strata-platform/strata/internal/audit/attempt"
)

// scope says in which namespaces an identity attempts the acts of a group.
type scope string

const (
	// everywhere is for acts on the cluster, or on a namespace that is in the path.
	everywhere scope = "the cluster"
	// eachTeam is for acts in the namespace of each team, also in that of the identity's own team.
	eachTeam scope = "each team"
	// otherTeams is for acts in the namespace of each team that is not the identity's own.
	otherTeams scope = "each other team"
	// ownTeam is for acts in the namespace of the identity's own team.
	ownTeam scope = "its own team"
)

// administrators are the classes that may do everything in the cluster.
var administrators = []audit.Class{audit.Administrator, audit.Applier}

// group is a list of acts that the platform refuses for the same reason.
type group struct {
	why   string
	area  audit.Area
	scope scope
	acts  []act
}

// act is a request to the API server that changes nothing.
type act struct {
	what, method, path, body string
	// also are the classes that may do this, beside the administrators, because the act belongs to their work.
	also []audit.Class
	// guarded says that not even the administrators may.
	guarded bool
	// may is the permission of teams.yaml that an account of a team needs for the act; empty means that no permission allows it.
	may string
	// other says that the body names another team: the act needs two teams.
	other bool
}

// of reports whether the act belongs to an identity.
func (a act) of(identity audit.Identity) bool {
	return slices.Contains(a.also, identity.Class) || a.may != "" && slices.Contains(identity.May, a.may) || !a.guarded && slices.Contains(administrators, identity.Class)
}

// slug matches the characters of a description that its ID replaces.
var slug = regexp.MustCompile(`[^a-z0-9]+`)

// ID returns the ID of an act: its description with hyphens.
func ID(what string) string {
	return strings.Trim(slug.ReplaceAllString(strings.ToLower(what), "-"), "-")
}

// place is the namespace of an attempt, and another team beside the identity's own.
type place struct{ team, namespace, account, other string }

func (a act) request(identity audit.Identity, at place) attempt.Request {
	values := strings.NewReplacer("{team}", at.team, "{namespace}", at.namespace, "{account}", at.account, "{other}", at.other, "{self}", identity.Kubernetes)
	return attempt.Request{Method: a.method, Path: values.Replace(a.path), Body: values.Replace(a.body)}
}

// Entry describes an act of the catalogue.
type Entry struct {
	ID, What string
	Area     audit.Area
	Why      string
	// In says on what each identity attempts the act. May are the classes that the act belongs to.
	In  string
	May []audit.Class
}

// Catalogue returns the catalogue: the acts of every area.
func Catalogue() []Entry {
	var entries []Entry
	for _, g := range kubernetes() {
		for _, a := range g.acts {
			may := slices.Clone(a.also)
			if !a.guarded {
				may = append(slices.Clone(administrators), may...)
			}
			entries = append(entries, Entry{ID(a.what), a.what, g.area, g.why, string(g.scope), may})
		}
	}
	for _, g := range others() {
		entries = append(entries, g...)
	}
	return entries
}

// kubernetes returns the acts that are requests to the API server.
func kubernetes() []group { return slices.Concat(climbs, secrets, hops, crossings, own, contents) }
