package platform_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbac "k8s.io/api/rbac/v1"

	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/platform/operators"
	"github.com/strata-platform/strata/teams"
)

var update = flag.Bool("update", false, "write what is generated into docs/hops.md")

const (
	hopsPage = "../docs/hops.md"
	// The table of permissions is between these lines of the page.
	rightsBegin, rightsEnd = "<!-- rights -->\n", "<!-- end of rights -->\n"
)

// TestThePageListsEveryRight compares the page's table with the roles that the layer creates.
func TestThePageListsEveryRight(t *testing.T) {
	page, err := os.ReadFile(hopsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(page), rightsBegin)
	listed, after, ends := strings.Cut(rest, rightsEnd)
	if !begins || !ends {
		t.Fatalf("%s has no table of rights between %q and %q", hopsPage, rightsBegin, rightsEnd)
	}
	want := rightsTable()
	if listed == want {
		return
	}
	if !*update {
		t.Fatalf("the rights in %s are not those of the layer: mend it with go test ./platform -run %s -update", hopsPage, t.Name())
	}
	if err := os.WriteFile(hopsPage, []byte(before+rightsBegin+want+rightsEnd+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

// rightsTable returns a line for each rule: the role, the place, the resources, and the verbs.
func rightsTable() string {
	var table strings.Builder
	fmt.Fprintf(&table, "| role | where | may | on |\n|---|---|---|---|\n")
	lines := func(role, where string, rules []rbac.PolicyRule) {
		for _, rule := range rules {
			fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", role, where, strings.Join(rule.Verbs, ", "), objects(rule))
		}
	}
	inside := func(roles map[string][]rbac.PolicyRule) {
		for _, namespace := range []string{platform.PlatformNamespace, platform.OperatorNamespace} {
			lines(platform.RolePlatform, "`"+namespace+"`", roles[namespace])
		}
	}
	where := map[string]string{
		platform.RolePlatform: "everywhere", platform.RoleOperator: "everywhere", platform.RoleOperatorTenant: "teams' namespaces",
		platform.RoleTeam: "its namespace", platform.RoleTeamWorkloads: "its namespace, if `teams.yaml` says `workloads`",
		platform.RoleTeamStacks: "its namespace, if it says `stacks`", platform.RoleTeamSources: "its namespace, if it says `sources`",
		platform.RoleTeamPlan: "its namespace", platform.RoleApprover: "the namespaces of the teams that name it",
	}
	roles, upstream := platform.ClusterRoles(), platform.UpstreamClusterRoles()
	for _, role := range []string{
		platform.RolePlatform, platform.RoleOperator, platform.RoleOperatorTenant, platform.RoleTeam,
		platform.RoleTeamWorkloads, platform.RoleTeamStacks, platform.RoleTeamSources, platform.RoleTeamPlan, platform.RoleApprover,
	} {
		lines(role, where[role], roles[role])
		delete(roles, role)
		if role == platform.RolePlatform {
			inside(platform.NamespaceRoles())
		}
	}
	lines(platform.RoleOperator, "`"+platform.OperatorNamespace+"`", platform.OperatorRole())
	fmt.Fprintf(&table, "\nWith the embedded operator in a pod, on Google Cloud, in addition:\n\n| role | where | may | on |\n|---|---|---|---|\n")
	lines(platform.RolePlatform, "`"+platform.PlatformNamespace+"`", operators.AfterUpstream(platform.OperatorSource))
	lines(platform.RolePlatform, "`"+platform.OperatorNamespace+"`", operators.PlatformRules())
	lines(platform.RoleOperator, "`"+platform.OperatorNamespace+"`", operators.LeaderRules(platform.OperatorAccount))
	for role := range roles {
		fmt.Fprintf(&table, "| `%s` | is not in the list of this test | | |\n", role)
	}
	fmt.Fprintf(&table, "\nWith upstream's operator instead:\n\n| role | where | may | on |\n|---|---|---|---|\n")
	for _, role := range []string{platform.RolePlatform, platform.RoleOperator, platform.RoleOperatorTenant} {
		lines(role, where[role], upstream[role])
		if role == platform.RolePlatform {
			inside(platform.UpstreamNamespaceRoles())
			lines(role, "`"+platform.OperatorNamespace+"`", operators.AfterPod(platform.OperatorAccount))
		}
	}
	lines(platform.RoleOperator, "`"+platform.OperatorNamespace+"`", platform.UpstreamOperatorRole())
	return table.String()
}

func objects(rule rbac.PolicyRule) string {
	var all []string
	for _, resource := range rule.Resources {
		if group := rule.APIGroups[0]; group != "" {
			resource += "." + group
		}
		all = append(all, "`"+resource+"`")
	}
	text := strings.Join(all, ", ")
	if len(rule.ResourceNames) > 0 {
		text += " named `" + strings.Join(rule.ResourceNames, "`, `") + "`"
	}
	return text
}

func TestThePagesExampleOfATeamIsValid(t *testing.T) {
	page, err := os.ReadFile(hopsPage)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml teams\n")
	example, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatalf("%s has no example of teams.yaml", hopsPage)
	}
	file, err := teams.Decode([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	if got := file.Teams[0].StackAccounts(); !slices.Equal(got, []string{"infra"}) {
		t.Errorf("Stacks run as %q", got)
	}
}

// TestThePageQuotesThePolicies compares the quotations on the page with the policies and their tests.
func TestThePageQuotesThePolicies(t *testing.T) {
	page, err := os.ReadFile(hopsPage)
	if err != nil {
		t.Fatal(err)
	}
	for fence, file := range map[string]string{"```yaml policy\n": "programs.yaml", "```refusal\n": "programs_test.go", "```refusal of a name\n": "names_test.go"} {
		_, rest, begins := strings.Cut(string(page), fence)
		quoted, _, ends := strings.Cut(rest, "```\n")
		if !begins || !ends {
			t.Fatalf("%s quotes nothing in %q", hopsPage, fence)
		}
		content, err := os.ReadFile(filepath.Join("../sync/policies", file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), strings.TrimSpace(quoted)) {
			t.Errorf("%s quotes text that %s does not contain:\n%s", hopsPage, file, quoted)
		}
	}
	for _, name := range platform.Policies {
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("%s says nothing of %s", hopsPage, name)
		}
	}
}

// TestThePageNamesTestsThatExist verifies that the tests named on the page exist.
func TestThePageNamesTestsThatExist(t *testing.T) {
	page, err := os.ReadFile(hopsPage)
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) == 0 {
		t.Fatalf("%s names no test", hopsPage)
	}
	var tests strings.Builder
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		tests.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range named {
		if !strings.Contains(tests.String(), "func "+name[1]+"(") {
			t.Errorf("%s names %s, which is not there", hopsPage, name[1])
		}
	}
}
