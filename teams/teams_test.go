package teams_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/teams"
)

const header = "apiVersion: strata/v1\nkind: Teams\n"

// plain returns a team that sets only name, branch and path in the file.
func plain(name, branch, path string) teams.Team {
	return teams.Team{Name: name, Branch: branch, Path: path, Allow: teams.DefaultAllow(), May: teams.DefaultMay(), RunTimeout: teams.DefaultRunTimeout}
}

func TestDecodeAccepts(t *testing.T) {
	for name, test := range map[string]struct {
		give string
		want []teams.Team
	}{
		"a name alone, with defaults": {
			give: header + "teams:\n- name: web\n",
			want: []teams.Team{plain("web", "main", "./")},
		},
		"every field, order kept": {
			give: header + "teams:\n- {name: shop-2, branch: release/1.x, path: ./deploy}\n- name: a\n",
			want: []teams.Team{
				plain("shop-2", "release/1.x", "./deploy"), plain("a", "main", "./"),
			},
		},
		"a platform without tenants": {give: header + "teams: []\n", want: []teams.Team{}},
		"the longest name":           {give: header + "teams: [{name: " + strings.Repeat("a", 25) + "}]", want: []teams.Team{plain(strings.Repeat("a", 25), "main", "./")}},
		"every grant": {
			give: header + `teams:
- name: web
  allow: [gcp:sql/*, "random:*", kubernetes:core/v1:Secret, gcp:sql:User]
  quota: {cpu: "2", memory: 4Gi, memoryLimit: 8Gi, pods: "20", storage: 10Gi, volumes: "3"}
  runTimeout: 1h
  approval: {when: always, by: [alice@example.com, "group:dbas@example.com", team]}
  sources: [https://git.example.com/shared.git, oci://registry.example.com/charts]
  may: [workloads]
  accounts: [{name: infra, may: [sources, stacks], path: ./infra}]
`,
			want: []teams.Team{{
				Name: "web", Branch: "main", Path: "./",
				Allow:      []string{"gcp:sql/*", "random:*", "kubernetes:core/v1:Secret", "gcp:sql:User"},
				Quota:      teams.Quota{CPU: "2", Memory: "4Gi", MemoryLimit: "8Gi", Pods: "20", Storage: "10Gi", Volumes: "3"},
				RunTimeout: "1h",
				Approval:   teams.Approval{When: "always", By: []string{"alice@example.com", "group:dbas@example.com", "team"}},
				Sources:    []string{"https://git.example.com/shared.git", "oci://registry.example.com/charts"},
				May:        []string{"workloads"}, Accounts: []teams.Account{{Name: "infra", May: []string{"sources", "stacks"}, Path: "./infra"}},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := teams.Decode([]byte(test.give))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(file.Teams, test.want) {
				t.Errorf("teams are %+v, want %+v", file.Teams, test.want)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		give string
		want []string
	}{
		"an empty file":          {"", []string{"the file is empty", "apiVersion: strata/v1"}},
		"a list":                 {"- name: web", []string{"cannot unmarshal array"}},
		"broken YAML":            {"teams: [", []string{"line 1"}},
		"another version":        {"apiVersion: strata/v9\nkind: Teams\nteams: []", []string{`apiVersion is "strata/v9"`, `"strata/v1"`}},
		"another kind":           {"apiVersion: strata/v1\nkind: List\nteams: []", []string{`kind is "List"`}},
		"a name that is missing": {header + "teams: [{branch: main}]", []string{"teams[0].name is missing"}},
		"a name with capitals":   {header + "teams: [{name: Web}]", []string{`teams[0].name "Web" must be lower-case`}},
		"a name that ends badly": {header + "teams: [{name: web-}]", []string{`teams[0].name "web-"`}},
		"a name that is long":    {header + "teams: [{name: " + strings.Repeat("a", 26) + "}]", []string{"26 characters", "at most 25"}},
		"a reserved name":        {header + "teams: [{name: default}]", []string{`"default" is reserved`}},
		"names of Git accounts": {
			header + "teams: [{name: platform}, {name: fleet}, {name: engineer}, {name: web}, {name: web-reader}]",
			[]string{`"platform" is reserved`, `"fleet" is reserved`, `"engineer" is reserved`, `"web-reader" is reserved: it is the Git account that reads the repository of team web`},
		},
		"a doubled name":     {header + "teams: [{name: web},{name: api},{name: web}]", []string{`teams[2].name "web" is taken by teams[0]`}},
		"a doubled field":    {header + "kind: Teams\nteams: []", []string{`"kind" already set`}},
		"a path that climbs": {header + "teams: [{name: web, path: a/../../b}]", []string{`teams[0].path "a/../../b"`}},
		"an absolute path":   {header + "teams: [{name: web, path: /etc}]", []string{`teams[0].path "/etc"`}},
		"a branch like an option": {
			header + "teams: [{name: web, branch: --upload-pack}]", []string{`teams[0].branch "--upload-pack"`},
		},
		"names of what each database instance has": {
			header + "teams: [{name: root},{name: mysql},{name: sys},{name: information},{name: performance},{name: cloudsqladmin}]",
			[]string{
				`"root" is reserved: the administrator`, `"mysql" is reserved`, `"sys" is reserved`, `"information" is reserved`, `"performance" is reserved`,
				`"cloudsqladmin" is reserved: the names of Cloud SQL's own database users`,
			},
		},
		"a path of two lines": {header + `teams: [{name: web, path: "a\nb"}]`, []string{`teams[0].path "a\nb"`}},
		"sources that are options": {
			header + "teams: [{name: web, sources: ['ssh://-oProxyCommand=id/x', 'ssh://-oProxyCommand=id@host/x']}]",
			[]string{"teams[0].sources[0]", "sources[1]"},
		},
		"types that are none": {
			header + "teams: [{name: web, allow: ['*', 'gcp*', 'gcp:sql/data*', 'pulumi:pulumi:StackReference', 'pulumi:*']}]",
			[]string{`teams[0].allow[0] "*"`, `allow[1] "gcp*"`, `allow[2] "gcp:sql/data*"`, `allow[3] "pulumi:pulumi:StackReference" would let`, `allow[4] "pulumi:*" would let`},
		},
		"amounts that are none": {
			header + "teams: [{name: web, quota: {cpu: much, pods: '-1'}}]", []string{`teams[0].quota.cpu "much"`, `quota.pods "-1"`},
		},
		"times that are none": {
			header + "teams: [{name: web, runTimeout: '15'}, {name: shop, runTimeout: 59s}, {name: lab, runTimeout: 61m}, {name: ci, runTimeout: -5m}]",
			[]string{`teams[0].runTimeout "15"`, `teams[1].runTimeout "59s" is not a duration from 1m to 1h, such as 15m`, `teams[2].runTimeout "61m"`, `teams[3].runTimeout "-5m"`},
		},
		"approvals that are none": {
			header + "teams: [{name: web, approval: {when: sometimes, by: ['', 'group:', 'a b', 'system:serviceaccount:team-web:web', 'group:system:authenticated', bob, bob], size: 3}}]",
			[]string{
				`teams[0].approval.when is "sometimes": it must be data, always or never`, `approval.by[0] ""`, `by[1] "group:"`, `by[2] "a b"`,
				`by[3] "system:serviceaccount:team-web:web" is a name of Kubernetes' own: name people; team stands for the team's accounts`,
				`by[4] "group:system:authenticated"`, `by[6] "bob" is given twice`, `unknown field "teams[0].approval.size"`,
			},
		},
		"sources that are none": {
			header + "teams: [{name: web, sources: [../x, 'https://u:canary@host/x.git', 'https://host/*']}]",
			[]string{"teams[0].sources[0]", "sources[1]", "sources[2]"},
		},
		"accounts that are none": {
			header + "teams: [{name: web, may: [all], accounts: [{name: web, may: [stacks]}, {name: default, may: [root], path: ../x}, {}, {name: strata-plan, may: [stacks]}]}]",
			[]string{
				`teams[0].may[0] is "all"`, `accounts[0].name "web" is the name of another account`, `accounts[1].name "default" is reserved`, `accounts[3].name "strata-plan" is reserved`,
				`accounts[1].may[0] is "root"`, `accounts[1].path "../x"`, `accounts[2].name ""`, "accounts[2].may is missing",
			},
		},
		"every problem at once": {
			"apiVersion: v1\nkind: Teams\ncolour: red\nteams:\n- {name: Web, size: 3}\n- {path: ../x}\n",
			[]string{`unknown field "colour"`, `unknown field "teams[0].size"`, `apiVersion is "v1"`, `"Web"`, "teams[1].name is missing", `teams[1].path`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := teams.Decode([]byte(test.give))
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("error shows a login: %v", err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error is longer than a line: %q", err)
			}
		})
	}
}

func TestStacksRunAsTheAccountsThatMayMakeThem(t *testing.T) {
	for name, test := range map[string]struct {
		give string
		want []string
	}{
		"by default the team's own":       {"", []string{"web"}},
		"another one instead":             {"may: [workloads], accounts: [{name: infra, may: [stacks]}]", []string{"infra"}},
		"both":                            {"accounts: [{name: infra, may: [stacks]}, {name: ci, may: [sources]}]", []string{"web", "infra"}},
		"none where the file allows none": {"may: [workloads]", nil},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := teams.Decode([]byte(header + "teams: [{name: web, " + test.give + "}]"))
			if err != nil {
				t.Fatal(err)
			}
			if got := file.Teams[0].StackAccounts(); !slices.Equal(got, test.want) {
				t.Errorf("Stacks run as %q, want %q", got, test.want)
			}
		})
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "teams.yaml")
	if _, err := teams.Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error of a missing file does not name it: %v", err)
	}
	if err := os.WriteFile(path, []byte("kind: x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := teams.Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error of a bad file does not name it: %v", err)
	}
}

func TestTheRepositorysOwnFileIsValid(t *testing.T) {
	file, err := teams.Load("../teams.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Teams) != 1 || file.Teams[0].Name != "web" {
		t.Errorf("teams are %+v, want the team web alone", file.Teams)
	}
	if team := file.Teams[0]; team.Namespace() != "team-web" || team.ServiceAccount() != "web" || team.GoogleAccountID() != "team-web" {
		t.Errorf("names of team web are %s, %s, %s", team.Namespace(), team.ServiceAccount(), team.GoogleAccountID())
	}
}

func TestAnApprovalNamesUsersGroupsAndTheTeam(t *testing.T) {
	a := teams.Approval{By: []string{"alice@example.com", "group:dbas", "team", "bob"}}
	if got := a.Users(); !reflect.DeepEqual(got, []string{"alice@example.com", "bob"}) {
		t.Errorf("users %q", got)
	}
	if got := a.Groups(); !reflect.DeepEqual(got, []string{"dbas"}) || !a.Team() || !a.Set() {
		t.Errorf("groups %q, the team's accounts: %t", got, a.Team())
	}
	if none := (teams.Approval{}); none.Set() || none.Team() || len(none.Users())+len(none.Groups()) > 0 {
		t.Error("no approval is an approval")
	}
}
