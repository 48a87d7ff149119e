package platform_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/strata-platform/strata/internal/pulumitest"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/platform/operators"
	"github.com/strata-platform/strata/teams"
)

// TestLimitsWithoutAClusterAreThoseOfTheHop compares the limits that `strata check` reads with the objects of this layer.
func TestLimitsWithoutAClusterAreThoseOfTheHop(t *testing.T) {
	const list = `
- name: web
  allow: [gcp:sql/*]
  sources: [https://git.example.com/shared.git]
  may: [workloads]
  accounts: [{name: infra, may: [sources, stacks], path: ./infra}]
- name: api
`
	var config platform.Config
	engine := withTeams(t, list, func(c *platform.Config) {
		c.Contact, c.Operator = "#platform", operators.Upstream
		config = *c
	})
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	file, err := teams.Load(config.TeamsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, team := range file.Teams {
		limits, err := platform.TeamLimits(config, team, file.Catalogue, filepath.Join(t.TempDir(), "none"))
		if err != nil {
			t.Fatal(err)
		}
		plain, _ := pulumitest.Plain(t, engine.Get(t, policyType, "team-"+team.Name+"-policy").Inputs, "spec")
		want := plain.(map[string]any)
		// Only layer 1 knows the backend and the Google account.
		want["context"] = map[string]any{"name": "strata-context", "backendUrl": ""}
		if !reflect.DeepEqual(limits.Policy, want) {
			t.Errorf("team %s:\ngot  %v\nwant %v", team.Name, limits.Policy, want)
		}
	}
	limits, err := platform.TeamLimits(config, file.Teams[0], nil, os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	roles := platform.ClusterRoles()
	if len(limits.Accounts) != 2 || limits.Accounts[1].Path != "./infra" || !reflect.DeepEqual(limits.Accounts[0].Rules, roles[platform.RoleTeamWorkloads]) ||
		len(limits.Accounts[1].Rules) != len(roles[platform.RoleTeamStacks])+len(roles[platform.RoleTeamSources]) {
		t.Errorf("the accounts are %+v", limits.Accounts)
	}
}
