package teamadmin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/teams"
)

// These are the states of a team.
const (
	// Ready means that the team's hop exists, and that every object in the team's namespace is ready in `strata status`.
	Ready = "ready"
	// NotReady means that `strata status` shows an object in the team's namespace that is not ready.
	NotReady = "not ready"
	// NotCreated means that teams.yaml has the team, and that the cluster has no hop for it yet.
	NotCreated = "not created"
	// Unknown means that teams.yaml has the team, and that the cluster is not readable.
	Unknown = "unknown"
	// Changed means that the types or the quota in teams.yaml differ from those in the team's hop.
	Changed = "changed"
	// Removed means that the cluster still has the hop of a team that is no longer in teams.yaml.
	Removed = "removed"
)

// List lists the teams of teams.yaml and of the cluster.
type List struct {
	// Cluster is "running", or the reason why the list does not include the cluster.
	Cluster string `json:"cluster"`
	Teams   []Team `json:"teams"`
}

// Team describes a team: as it is in the cluster if its hop exists, and otherwise as it is in teams.yaml.
type Team struct {
	Name string `json:"name"`
	// State is one of the constants. Message names the remedy.
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
	// Namespace is the team's namespace. Accounts are the service accounts in it, the team's own first. GoogleAccount
	// is the Google service account of the team's Stacks.
	Namespace     string   `json:"namespace"`
	Accounts      []string `json:"accounts"`
	GoogleAccount string   `json:"googleAccount"`
	// Allow lists the types that the team's Programs may declare.
	Allow []string `json:"allow"`
	// Quota holds the limits and the present use of the namespace.
	Quota []Quota `json:"quota"`
	// Repository is the URL that Flux applies from. It is empty if the team has no hop.
	Repository string  `json:"repository"`
	Syncs      []Sync  `json:"syncs"`
	Stacks     []Stack `json:"stacks"`
}

// Quota is the quota of one resource in a team's namespace.
type Quota struct {
	Resource string `json:"resource"`
	Used     string `json:"used"`
	Hard     string `json:"hard"`
}

// Sync is a sync that applies a folder of a team's repository.
type Sync struct {
	Name string `json:"name"`
	// Ready, Reason and Message are those of the sync in `strata status`. Revision is the revision that the sync applied
	// last.
	Ready    bool   `json:"ready"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	Revision string `json:"revision"`
}

// Stack is a Stack of a team.
type Stack struct {
	Name string `json:"name"`
	// Account is the service account of the Stack.
	Account string `json:"account"`
	// Ready, Reason and Message are those of the Stack in `strata status`.
	Ready   bool   `json:"ready"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// clusterRunning is the value of Cluster in a list that includes the cluster.
const clusterRunning = "running"

// List lists the teams of teams.yaml and, if the cluster runs, those of the cluster. It starts nothing.
func (a *Admin) List(ctx context.Context) (List, error) {
	declared, err := a.Teams()
	if err != nil {
		return List{}, err
	}
	why, err := a.target.Stopped(ctx)
	if err != nil {
		return List{}, err
	}
	if why != "" {
		return a.unknown(declared, why), nil
	}
	below, config, err := a.Below(ctx)
	if err != nil {
		return List{}, err
	}
	if config == nil {
		// The cluster has stopped since the previous call.
		return a.unknown(declared, below[len(below)-1].Message), nil
	}
	seen, err := look(ctx, config, a.Scope(declared, below))
	if err != nil {
		return List{}, fmt.Errorf("read the teams in the cluster: %w: %s", err, a.About().Reconnect)
	}
	return a.list(declared, seen)
}

// unknown returns the list for a cluster that cannot be read.
func (a *Admin) unknown(declared []teams.Team, why string) List {
	list := List{Cluster: why, Teams: []Team{}}
	for _, team := range declared {
		if team.Offer != "" {
			continue // An entry of the catalogue, and not a team of people.
		}
		t := a.declared(team)
		t.State, t.Message = Unknown, why+": run `"+a.About().Call("up")+"`"
		list.Teams = append(list.Teams, t)
	}
	return list
}

// list returns the list for a cluster.
func (a *Admin) list(declared []teams.Team, seen cluster) (List, error) {
	list := List{Cluster: clusterRunning, Teams: []Team{}}
	about := a.About()
	for _, team := range declared {
		if team.Offer != "" {
			continue // An entry of the catalogue, and not a team of people.
		}
		t := a.declared(team)
		if seen.has(team) {
			if err := t.read(seen); err != nil {
				return List{}, err
			}
			t.setState(team, seen.report, about.Call("up"))
		} else {
			t.Message = "run `" + about.Call("up") + "`"
		}
		list.Teams = append(list.Teams, t)
	}
	for _, name := range seen.former(declared) {
		t := a.declared(teams.Team{Name: name})
		if err := t.read(seen); err != nil {
			return List{}, err
		}
		t.State, t.Message = Removed, "no longer in "+about.TeamsFile+": run `"+about.Call("up")+"` to remove it"
		list.Teams = append(list.Teams, t)
	}
	return list, nil
}

// declared returns a team without a hop.
func (a *Admin) declared(team teams.Team) Team {
	t := Team{
		Name: team.Name, State: NotCreated, Namespace: team.Namespace(), Accounts: []string{team.ServiceAccount()},
		GoogleAccount: team.GoogleAccountID() + "@" + a.target.GoogleProject() + ".iam.gserviceaccount.com",
		Allow:         team.Allow, Quota: []Quota{}, Syncs: []Sync{}, Stacks: []Stack{},
	}
	for _, account := range team.Accounts {
		t.Accounts = append(t.Accounts, account.Name)
	}
	hard := team.Quota.Hard()
	for _, name := range slices.Sorted(maps.Keys(hard)) {
		t.Quota = append(t.Quota, Quota{Resource: name, Hard: hard[name]})
	}
	return t
}

// setState sets the state of a team that both teams.yaml and the cluster have. up is the command that applies teams.yaml.
func (t *Team) setState(team teams.Team, report status.Report, up string) {
	t.State = Ready
	if cause, found := causeIn(report, t.Namespace); found {
		t.State, t.Message = NotReady, cause
	}
	if !slices.Equal(t.Allow, team.Allow) || !t.hasQuota(team.Quota.Hard()) {
		t.State, t.Message = Changed, "teams.yaml has changed since: run `"+up+"`"
	}
}

// causeIn returns the first cause of the report that explains why an object of a namespace is not ready. found is false if
// all objects of the namespace are ready.
func causeIn(report status.Report, namespace string) (text string, found bool) {
	within := func(position int) bool {
		item := report.Items[position]
		return item.Namespace == namespace || item.Kind == "Namespace" && item.Name == namespace
	}
	for _, cause := range report.Causes {
		item := report.Items[cause.Item]
		switch {
		case within(cause.Item):
			return nameOf(item) + ": " + cmp.Or(item.Message, item.Reason), true
		case slices.ContainsFunc(cause.Explains, within):
			return item.Cause(), true
		}
	}
	return "", false
}

// nameOf names an object of a team for people who know the team: "sync shop".
func nameOf(item status.Item) string {
	if item.Kind == "Kustomization" {
		return "sync " + item.Name
	}
	return item.Kind + " " + item.Name
}

// hasQuota reports whether the limits in the cluster are those of teams.yaml, as quantities: "1Gi" equals "1024Mi".
func (t *Team) hasQuota(hard map[string]string) bool {
	for _, q := range t.Quota {
		want, err := resource.ParseQuantity(hard[q.Resource])
		if hard[q.Resource] != "" && (err != nil || want.String() != q.Hard && want.Cmp(resource.MustParse(q.Hard)) != 0) {
			return false
		}
	}
	return true
}
