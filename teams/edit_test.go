package teams_test

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/teams"
)

// commented is a file as people write it, with comments.
const commented = `# The teams of this platform.
apiVersion: strata/v1
kind: Teams

teams:
  # The web site.
  - name: web   # asked for in March
    allow: [gcp:sql/*, "random:*"]

    # They share it.
    quota:
      cpu: "2"

  # Experiments.
  - name: lab
    # Not main.
    branch: trunk

# The end.
`

func TestAddKeepsEveryByteOfTheRest(t *testing.T) {
	for name, test := range map[string]struct {
		give, want string
		team       teams.Team
	}{
		"after the last, before what follows": {
			give: commented, team: teams.Team{Name: "shop"},
			want: strings.Replace(commented, "    branch: trunk\n", "    branch: trunk\n  - name: shop\n", 1),
		},
		"with everything": {
			give: header + "teams:\n- name: web\n",
			team: teams.Team{
				Name: "shop", Branch: "trunk", Path: "./deploy", Allow: []string{"gcp:sql/*", "random:*"},
				Quota: teams.Quota{CPU: "4", Memory: "8Gi", MemoryLimit: "16Gi", Pods: "20", Storage: "50Gi", Volumes: "5"},
			},
			want: header + `teams:
- name: web
- name: shop
  branch: trunk
  path: ./deploy
  allow:
    - gcp:sql/*
    - random:*
  quota: {cpu: "4", memory: 8Gi, memoryLimit: 16Gi, pods: "20", storage: 50Gi, volumes: "5"}
`,
		},
		"a name that YAML takes for something else": {
			give: header + "teams:\n  - name: web\n", team: teams.Team{Name: "on"},
			want: header + "teams:\n  - name: web\n  - name: \"on\"\n",
		},
		"to none": {
			give: header + "teams: [] # nobody yet\n# The end.\n", team: teams.Team{Name: "shop"},
			want: header + "teams: # nobody yet\n  - name: shop\n# The end.\n",
		},
		"to nothing": {
			give: header + "teams:\n", team: teams.Team{Name: "shop"},
			want: header + "teams:\n  - name: shop\n",
		},
		"to no list": {give: header, team: teams.Team{Name: "shop"}, want: header + "teams:\n  - name: shop\n"},
		"to a list in brackets, comments kept": {
			give: "# All.\n" + header + "teams: [{name: web}] # some\n", team: teams.Team{Name: "shop"},
			want: "# All.\n" + header + "teams: # some\n  - {name: web}\n  - name: shop\n",
		},
		"to a list before another field": {
			give: "teams:\n  - name: web\n\n" + header, team: teams.Team{Name: "shop"},
			want: "teams:\n  - name: web\n  - name: shop\n\n" + header,
		},
		"with the ends of lines of another system": {
			give: strings.ReplaceAll(commented, "\n", "\r\n"), team: teams.Team{Name: "shop"},
			want: strings.ReplaceAll(strings.Replace(commented, "    branch: trunk\n", "    branch: trunk\n  - name: shop\n", 1), "\n", "\r\n"),
		},
		"a dash on a line of its own": {
			give: header + "teams:\n  -\n    name: web\n", team: teams.Team{Name: "shop"},
			want: header + "teams:\n  -\n    name: web\n  - name: shop\n",
		},
		"a last line without an end": {
			give: header + "teams:\n  - name: web", team: teams.Team{Name: "shop"},
			want: header + "teams:\n  - name: web\n  - name: shop\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := teams.Add([]byte(test.give), test.team)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("the file is\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestRemoveKeepsEveryByteOfTheRest(t *testing.T) {
	for name, test := range map[string]struct{ give, team, want string }{
		"the first, with the comment above it": {
			commented, "web",
			strings.Replace(commented, commented[strings.Index(commented, "  # The web"):strings.Index(commented, "  # Experiments")], "", 1),
		},
		"the last": {
			commented, "lab",
			strings.Replace(commented, commented[strings.Index(commented, "\n  # Experiments"):strings.Index(commented, "\n# The end")], "", 1),
		},
		"the only one": {header + "teams: # few\n  - name: web\n", "web", header + "teams: [] # few\n"},
		"one of a list in brackets": {
			header + "teams: [{name: web}, {name: shop}]\n", "web", header + "teams:\n  - {name: shop}\n",
		},
		"one with a dash on a line of its own": {
			header + "teams:\n-\n  name: web\n- name: shop\n", "web", header + "teams:\n- name: shop\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := teams.Remove([]byte(test.give), test.team)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("the file is\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestAddAndRemoveRestoreTheFile(t *testing.T) {
	added, err := teams.Add([]byte(commented), teams.Team{Name: "shop", Quota: teams.Quota{CPU: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	if back, err := teams.Remove(added, "shop"); err != nil || string(back) != commented {
		t.Errorf("error %v, the file is\n%s", err, back)
	}
}

func TestAChangeIsRefusedWhere(t *testing.T) {
	alias := header + "teams:\n  - &web {name: web, allow: &a [gcp:sql/*]}\n  - {name: lab, allow: *a}\n"
	for name, test := range map[string]struct {
		give func() ([]byte, error)
		want string
	}{
		"the team is there": {
			func() ([]byte, error) { return teams.Add([]byte(commented), teams.Team{Name: "lab"}) }, "team lab is in the list already",
		},
		"the name is no name": {
			func() ([]byte, error) { return teams.Add([]byte(commented), teams.Team{Name: "Shop"}) }, `team.name "Shop" must be lower-case`,
		},
		"a type is no type": {
			func() ([]byte, error) {
				return teams.Add([]byte(commented), teams.Team{Name: "shop", Allow: []string{"random:*", "vm"}})
			}, `team.allow[1] "vm" is neither a resource type`,
		},
		"a quota is no quantity": {
			func() ([]byte, error) {
				return teams.Add([]byte(commented), teams.Team{Name: "shop", Quota: teams.Quota{CPU: "much"}})
			}, `team.quota.cpu "much" is not a quantity`,
		},
		"the file is wrong already": {
			func() ([]byte, error) { return teams.Add([]byte("kind: Pods\n"), teams.Team{Name: "shop"}) }, `kind is "Pods"`,
		},
		"the team is not there": {
			func() ([]byte, error) { return teams.Remove([]byte(commented), "shop") }, `there is no team "shop" in the list: it has web, lab`,
		},
		"another team would change with it": {
			func() ([]byte, error) { return teams.Remove([]byte(alias), "web") }, "edit it by hand",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := test.give(); err == nil || !strings.Contains(err.Error(), test.want) || got != nil {
				t.Errorf("error is %v and content is %q, want an error with %q and no content", err, got, test.want)
			}
		})
	}
}

func TestParseQuota(t *testing.T) {
	got, err := teams.ParseQuota(map[string]string{"cpu": "4", "memory": "8Gi", "memoryLimit": "16Gi", "pods": "9", "storage": "1Ti", "volumes": "3"})
	if want := (teams.Quota{CPU: "4", Memory: "8Gi", MemoryLimit: "16Gi", Pods: "9", Storage: "1Ti", Volumes: "3"}); err != nil || got != want {
		t.Errorf("the quota is %+v, error %v, want %+v", got, err, want)
	}
	if _, err := teams.ParseQuota(map[string]string{"gpu": "1"}); err == nil || !strings.Contains(err.Error(), `has no "gpu": it has cpu, memory,`) {
		t.Errorf("error %v, want one that names the field and those that there are", err)
	}
}
