package local

import (
	"context"
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/teams"
)

// These are the states of a team.
const (
	// TeamReady means that the team's hop exists and everything that it applies is ready.
	TeamReady = "ready"
	// TeamNotReady means that something in the team's namespace is not ready.
	TeamNotReady = "not ready"
	// TeamNotCreated means that teams.yaml has the team, and that the cluster has no hop for it yet.
	TeamNotCreated = "not created"
	// TeamUnknown means that teams.yaml has the team, and that the cluster is not readable.
	TeamUnknown = "unknown"
	// TeamChanged means that the types or the quota in teams.yaml differ from those in the team's hop.
	TeamChanged = "changed"
	// TeamRemoved means that the cluster still has the hop of a team that is no longer in teams.yaml.
	TeamRemoved = "removed"
)

// TeamList lists the teams of teams.yaml and of the cluster.
type TeamList struct {
	// Cluster is "running", or the reason why the list does not include the cluster.
	Cluster string       `json:"cluster"`
	Teams   []TeamStatus `json:"teams"`
}

// TeamStatus describes a team: as it is in the cluster if its hop exists, and otherwise as it is in teams.yaml.
type TeamStatus struct {
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
	Quota []TeamQuota `json:"quota"`
	// Repository is the URL that Flux applies from. It is empty if the team has no hop.
	Repository string      `json:"repository"`
	Syncs      []TeamSync  `json:"syncs"`
	Stacks     []TeamStack `json:"stacks"`
}

// TeamQuota is the quota of one resource in a team's namespace.
type TeamQuota struct {
	Resource string `json:"resource"`
	Used     string `json:"used"`
	Hard     string `json:"hard"`
}

// TeamSync is a sync that applies a folder of a team's repository.
type TeamSync struct {
	Name string `json:"name"`
	// Ready, Reason and Message are the sync's condition. Revision is the revision that the sync applied last.
	Ready    bool   `json:"ready"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	Revision string `json:"revision"`
}

// TeamStack is a Stack of a team.
type TeamStack struct {
	Name string `json:"name"`
	// Account is the service account of the Stack.
	Account string `json:"account"`
	// Ready, Reason and Message are the Stack's condition.
	Ready   bool   `json:"ready"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// clusterRunning is the value of Cluster in a list that includes the cluster.
const clusterRunning = "running"

// ListTeams lists the teams of teams.yaml and, if the cluster runs, those of the cluster. It starts nothing.
func (p *Platform) ListTeams(ctx context.Context) (TeamList, error) {
	declared, err := p.Teams()
	if err != nil {
		return TeamList{}, err
	}
	up := p.Home.Call("up")
	list := TeamList{Cluster: clusterRunning, Teams: []TeamStatus{}}
	running, err := p.client.Status(ctx)
	switch {
	case errors.Is(err, supervisor.ErrNotRunning):
		list.Cluster = "nothing runs in " + p.Home.Dir()
	case err != nil:
		return TeamList{}, err
	case running.Cluster != supervisor.ClusterRunning:
		list.Cluster = "the cluster is " + string(running.Cluster)
	}
	if list.Cluster != clusterRunning {
		for _, team := range declared {
			status := declaredTeam(team)
			status.State, status.Message = TeamUnknown, list.Cluster+": run `"+up+"`"
			list.Teams = append(list.Teams, status)
		}
		return list, nil
	}
	c, err := p.clusterClient()
	if err != nil {
		return TeamList{}, err
	}
	config, err := p.AdminConfig()
	if err != nil {
		return TeamList{}, err
	}
	made, err := lifecycle.TeamNamespaces(ctx, config)
	if err != nil {
		return TeamList{}, err
	}
	for _, team := range declared {
		status := declaredTeam(team)
		if _, found := made[team.Namespace()]; found {
			delete(made, team.Namespace())
			if err := status.read(ctx, c); err != nil {
				return TeamList{}, err
			}
			status.setState(team, up)
		} else {
			status.Message = "run `" + up + "`"
		}
		list.Teams = append(list.Teams, status)
	}
	for _, namespace := range slices.Sorted(maps.Keys(made)) {
		status := declaredTeam(teams.Team{Name: made[namespace]})
		if err := status.read(ctx, c); err != nil {
			return TeamList{}, err
		}
		status.State, status.Message = TeamRemoved, "no longer in "+p.teamsFile()+": run `"+up+"` to remove it"
		list.Teams = append(list.Teams, status)
	}
	return list, nil
}

// declaredTeam returns the status of a team without a hop.
func declaredTeam(team teams.Team) TeamStatus {
	status := TeamStatus{
		Name: team.Name, State: TeamNotCreated, Namespace: team.Namespace(), Accounts: []string{team.ServiceAccount()},
		GoogleAccount: team.GoogleAccountID() + "@" + home.Project + ".iam.gserviceaccount.com",
		Allow:         team.Allow, Quota: []TeamQuota{}, Syncs: []TeamSync{}, Stacks: []TeamStack{},
	}
	for _, account := range team.Accounts {
		status.Accounts = append(status.Accounts, account.Name)
	}
	hard := team.Quota.Hard()
	for _, name := range slices.Sorted(maps.Keys(hard)) {
		status.Quota = append(status.Quota, TeamQuota{Resource: name, Hard: hard[name]})
	}
	return status
}

// setState sets the state of a team that both teams.yaml and the cluster have. up is the command that applies teams.yaml.
func (s *TeamStatus) setState(team teams.Team, up string) {
	s.State = TeamReady
	for _, sync := range s.Syncs {
		if !sync.Ready {
			s.State, s.Message = TeamNotReady, "sync "+sync.Name+": "+sync.Message
		}
	}
	for _, stack := range s.Stacks {
		if !stack.Ready {
			s.State, s.Message = TeamNotReady, "Stack "+stack.Name+": "+stack.Message
		}
	}
	if !slices.Equal(s.Allow, team.Allow) || !s.hasQuota(team.Quota.Hard()) {
		s.State, s.Message = TeamChanged, "teams.yaml has changed since: run `"+up+"`"
	}
}

// hasQuota reports whether the limits in the cluster are those of teams.yaml, as quantities: "1Gi" equals "1024Mi".
func (s *TeamStatus) hasQuota(hard map[string]string) bool {
	for _, q := range s.Quota {
		want, err := resource.ParseQuantity(hard[q.Resource])
		if hard[q.Resource] != "" && (err != nil || want.String() != q.Hard && want.Cmp(resource.MustParse(q.Hard)) != 0) {
			return false
		}
	}
	return true
}
