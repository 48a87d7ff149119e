package teamadmin

import (
	"testing"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/teams"
)

func TestTheStateOfATeamIs(t *testing.T) {
	declared := teams.Team{Name: "shop", Allow: []string{"random:*"}, Quota: teams.Quota{CPU: "2"}}
	made := func(change func(*Team)) Team {
		s := Team{
			Namespace: "team-shop", Allow: []string{"random:*"},
			Quota: []Quota{{Resource: "pods", Hard: "50"}, {Resource: "requests.cpu", Hard: "2"}},
		}
		change(&s)
		return s
	}
	as := func(*Team) {}
	item := func(kind, namespace, name, message string) status.Item {
		return status.Item{Layer: status.LayerTeam, Kind: kind, Namespace: namespace, Name: name, Ready: message == "", Message: message}
	}
	for name, test := range map[string]struct {
		give           Team
		items          []status.Item
		explains       []int
		state, message string
	}{
		"ready": {
			give: made(as), items: []status.Item{item("Stack", "team-shop", "infra", "")}, state: Ready,
		},
		"ready with the same quota in other words": {
			give: made(func(s *Team) { s.Quota[1].Hard = "2000m" }), state: Ready,
		},
		"ready if only another team is not": {
			give: made(as), items: []status.Item{item("Kustomization", "team-web", "web", "refused")}, state: Ready,
		},
		"not ready by a sync": {
			give: made(as), items: []status.Item{item("Kustomization", "team-shop", "shop", "refused")},
			state: NotReady, message: "sync shop: refused",
		},
		"not ready by a Stack": {
			give: made(as), items: []status.Item{item("Stack", "team-shop", "infra", "no database")},
			state: NotReady, message: "Stack infra: no database",
		},
		"not ready by the platform": {
			give: made(as), items: []status.Item{item("Deployment", "flux-system", "source-controller", "no node"), item("GitRepository", "team-shop", "shop", "old")}, explains: []int{1},
			state: NotReady, message: "Deployment flux-system/source-controller: no node",
		},
		"changed in what it may declare": {
			give: made(func(s *Team) { s.Allow = []string{"gcp:sql/*"} }), state: Changed, message: "teams.yaml has changed since: run `strata up`",
		},
		"changed in its quota": {
			give: made(func(s *Team) { s.Quota[1].Hard = "4" }), state: Changed, message: "teams.yaml has changed since: run `strata up`",
		},
	} {
		t.Run(name, func(t *testing.T) {
			report := status.NewReport(test.items)
			for i := range report.Causes {
				report.Causes[i].Explains = test.explains
			}
			if test.give.setState(declared, report, "strata up"); test.give.State != test.state || test.give.Message != test.message {
				t.Errorf("it is %q: %q, want %q: %q", test.give.State, test.give.Message, test.state, test.message)
			}
		})
	}
}
