package local

import (
	"testing"

	"github.com/strata-platform/strata/teams"
)

func TestTheStateOfATeamIs(t *testing.T) {
	declared := teams.Team{Name: "shop", Allow: []string{"random:*"}, Quota: teams.Quota{CPU: "2"}}
	made := func(change func(*TeamStatus)) TeamStatus {
		s := TeamStatus{
			Allow:  []string{"random:*"},
			Quota:  []TeamQuota{{Resource: "pods", Hard: "50"}, {Resource: "requests.cpu", Hard: "2"}},
			Syncs:  []TeamSync{{Name: "shop", Ready: true}},
			Stacks: []TeamStack{{Name: "infra", Ready: true}},
		}
		change(&s)
		return s
	}
	for name, test := range map[string]struct {
		give           TeamStatus
		state, message string
	}{
		"ready": {made(func(*TeamStatus) {}), TeamReady, ""},
		"ready with the same quota in other words": {
			made(func(s *TeamStatus) { s.Quota[1].Hard = "2000m" }), TeamReady, "",
		},
		"not ready by a sync": {
			made(func(s *TeamStatus) { s.Syncs[0] = TeamSync{Name: "shop", Message: "refused"} }), TeamNotReady, "sync shop: refused",
		},
		"not ready by a Stack": {
			made(func(s *TeamStatus) { s.Stacks[0] = TeamStack{Name: "infra", Message: "no database"} }), TeamNotReady, "Stack infra: no database",
		},
		"changed in what it may declare": {
			made(func(s *TeamStatus) { s.Allow = []string{"gcp:sql/*"} }), TeamChanged, "teams.yaml has changed since: run `strata up`",
		},
		"changed in its quota": {
			made(func(s *TeamStatus) { s.Quota[1].Hard = "4" }), TeamChanged, "teams.yaml has changed since: run `strata up`",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.give.setState(declared, "strata up"); test.give.State != test.state || test.give.Message != test.message {
				t.Errorf("it is %q: %q, want %q: %q", test.give.State, test.give.Message, test.state, test.message)
			}
		})
	}
}
