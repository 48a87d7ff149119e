package platform_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/internal/pulumitest"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/platform/operators"
	"github.com/strata-platform/strata/test/long"
)

const offered = "catalogue: [{name: database, perTeam: 3}]\n"

// withCatalogue returns the engine of a platform that offers the entry database to team web.
func withCatalogue(t *testing.T, edit func(*platform.Config)) *pulumitest.Engine {
	t.Helper()
	engine := withTeams(t, "- name: web\n"+offered, func(c *platform.Config) {
		copyEntries(t, c)
		if edit != nil {
			edit(c)
		}
	})
	engine.Read["pulumi:pulumi:StackReference"] = handedOn("web", "catalogue-database")
	return engine
}

// copyEntries gives the platform's repository the folders of Strata's entries, as a clone of Strata has them.
func copyEntries(t *testing.T, c *platform.Config) {
	t.Helper()
	if err := os.CopyFS(ownEntries(c), catalogue.Files); err != nil {
		t.Fatal(err)
	}
}

// ownEntries returns the folder with the platform's own entries.
func ownEntries(c *platform.Config) string {
	return filepath.Join(filepath.Dir(c.TeamsFile), catalogue.Folder)
}

func TestAnOfferedEntryGetsItsKindAndAHopFromThePlatformRepository(t *testing.T) {
	engine := withCatalogue(t, func(c *platform.Config) { c.Target = "local" })
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	kind := engine.Get(t, "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition", "catalogue-database")
	for path, want := range map[string]any{
		"metadata.name": "databases.catalogue.strata.dev", "spec.names.kind": "Database", "spec.names.singular": "database", "spec.scope": "Namespaced",
	} {
		if got, _ := pulumitest.Plain(t, kind.Inputs, path); got != want {
			t.Errorf("%s of the kind is %v, want %s", path, got, want)
		}
	}
	expect(t, engine.Get(t, sourceType, entrySource), map[string]any{
		"spec.url": "https://git.example.com/platform.git", "spec.ref.branch": "main", "spec.sparseCheckout[0]": "catalogue",
	})
}

// entrySource is the name of the source of the entry database.
const entrySource = "team-catalogue-database-source-repository"

func TestAnOrganisationOffersStratasEntryWithoutACopy(t *testing.T) {
	organisation := func(edit func(*platform.Config)) *pulumitest.Engine {
		return withCatalogue(t, func(c *platform.Config) {
			if err := os.RemoveAll(ownEntries(c)); err != nil {
				t.Fatal(err)
			}
			c.Target, c.StrataFile = "local", pinnedFile(t, pinnedCommit)
			c.StrataUsername, c.StrataPassword = "reader", "canary-strata"
			edit(c)
		})
	}
	t.Run("from the pinned commit", func(t *testing.T) {
		engine := organisation(func(*platform.Config) {})
		if err := run(engine); err != nil {
			t.Fatal(err)
		}
		expect(t, engine.Get(t, sourceType, entrySource), map[string]any{
			"spec.url": "https://git.example.com:8443/strata", "spec.ref.branch": "sync/v0.3.0", "spec.ref.commit": pinnedCommit,
			"spec.sparseCheckout[0]": "catalogue",
		})
		expect(t, engine.Get(t, kustomizationType, "team-catalogue-database-sync-kustomization"), map[string]any{
			"spec.path": "./catalogue/database", "spec.serviceAccountName": "catalogue-database", "metadata.namespace": "team-catalogue-database",
		})
	})
	t.Run("unless it has a folder of its own", func(t *testing.T) {
		engine := organisation(func(c *platform.Config) { copyEntries(t, c) })
		if err := run(engine); err != nil {
			t.Fatal(err)
		}
		source := engine.Get(t, sourceType, entrySource)
		expect(t, source, map[string]any{"spec.url": "https://git.example.com/platform.git", "spec.ref.branch": "main"})
		if ref := fmt.Sprint(source.Inputs["spec"]); strings.Contains(ref, "commit") {
			t.Errorf("the own folder is pinned to a commit: %s", ref)
		}
	})
}

func TestACloneWithoutTheFolderOfAnEntryDoesNotOfferIt(t *testing.T) {
	err := run(withCatalogue(t, func(c *platform.Config) {
		c.Target = "local"
		if err := os.RemoveAll(ownEntries(c)); err != nil {
			t.Fatal(err)
		}
	}))
	if err == nil || !strings.Contains(err.Error(), "catalogue/database does not exist: restore the folder with git, or remove the entry from teams.yaml") {
		t.Errorf("error %v", err)
	}
}

func TestOnlyAnEntryMayUseTheNamesOfAllTeams(t *testing.T) {
	engine := withCatalogue(t, func(c *platform.Config) { c.Target = "local" })
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct{ has, lacks string }{
		"team-web-policy":                {"orders:{map[database:{3}]}", "anyNames"},
		"team-catalogue-database-policy": {"anyNames:{true}", "orders"},
	} {
		policy := fmt.Sprint(engine.Get(t, "kubernetes:strata.dev/v1:"+hop.PolicyKind, name).Inputs)
		if !strings.Contains(policy, want.has) || strings.Contains(policy, want.lacks) {
			t.Errorf("%s is %s, want %s and not %s", name, policy, want.has, want.lacks)
		}
	}
}

func TestUpstreamsOperatorRefusesACatalogue(t *testing.T) {
	err := run(withCatalogue(t, func(c *platform.Config) { c.Target, c.Operator = "gke", operators.Upstream }))
	if err == nil || !strings.Contains(err.Error(), "teams.yaml has a catalogue, and upstream's operator does not handle orders") {
		t.Errorf("error %v", err)
	}
}

func TestUpstreamsOperatorRefusesApprovals(t *testing.T) {
	for list, want := range map[string]string{
		"- {name: web, approval: {when: data}}": "sets approval of team web, and upstream's operator waits for no approval",
		"- {name: web, approval: {by: [team]}}": "sets approval of team web",
		"- {name: web}":                         "",
	} {
		err := run(withTeams(t, list, func(c *platform.Config) {
			c.Target, c.FleetUsername, c.FleetPassword = "gke", "reader", "canary-reader"
		}))
		if said := fmt.Sprint(err); want != "" && !strings.Contains(said, want) || want == "" && strings.Contains(said, "approval") {
			t.Errorf("%s: error %v", list, err)
		}
	}
}

func TestAPlatformWithoutACatalogueHasNothingOfIt(t *testing.T) {
	engine := below(t, func(c *platform.Config) { c.Target = "local" })
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	for _, r := range engine.All() {
		if strings.Contains(r.Name, "order") || strings.Contains(r.Name, "catalogue") {
			t.Errorf("%s exists", r.URN)
		}
	}
}

func TestTheCatalogueGivesNoAccountMoreThanItNeeds(t *testing.T) {
	long.Test(t)
	c := newClusterWith(t, "local", offered)
	for _, object := range built(t, "../operator/config/manager") {
		if object.GetKind() == "ClusterRoleBinding" {
			c.apply(t, object)
		}
	}
	const entry = "team-catalogue-database"
	all := maps.Clone(known)
	all[entry] = "catalogue-database"
	checkClosure(t, c, false, all, map[string][]string{
		"platform":                 {"platform", platform.OperatorNamespace, "team-api", entry, "team-web"},
		platform.OperatorNamespace: {platform.OperatorNamespace, "team-api", entry, "team-web"},
		"team-web":                 {"team-web"},
		"team-api":                 {"team-api"},
		entry:                      {entry},
	})
	operator, web, api, infra := serviceAccount(platform.OperatorNamespace, platform.OperatorAccount),
		serviceAccount("team-web", "web"), serviceAccount("team-api", "api"), serviceAccount("team-api", "infra")
	seller := serviceAccount(entry, "catalogue-database")
	for _, test := range []struct {
		who, verb, group, resource, namespace string
		want                                  bool
	}{
		{web, "create", catalogue.Group, "databases", "team-web", true},
		{web, "delete", catalogue.Group, "databases", "team-web", true},
		{infra, "create", catalogue.Group, "databases", "team-api", true},
		{operator, "watch", catalogue.Group, "databases", "", true},
		{operator, "patch", catalogue.Group, "databases/status", "team-web", true},
		{operator, "create", "", "secrets", "team-web", true},
		{operator, "create", "pulumi.com", "stacks", entry, true},
		{operator, "delete", "pulumi.com", "stacks", entry, true},

		// A team orders in its own namespace, and reports nothing of its orders.
		{web, "patch", catalogue.Group, "databases/status", "team-web", false},
		{web, "update", catalogue.Group, "databases/status", "team-web", false},
		{web, "create", catalogue.Group, "databases", "team-api", false},
		{web, "list", catalogue.Group, "databases", "", false},
		{web, "get", "", "secrets", entry, false},
		{web, "create", "pulumi.com", "stacks", entry, false},
		{web, "patch", "pulumi.com", "stacks", entry, false},
		{web, "get", "pulumi.com", "stacks", entry, false},
		{web, "patch", "apiextensions.k8s.io", "customresourcedefinitions", "", false},
		// Without stacks in teams.yaml, an account does not order.
		{api, "create", catalogue.Group, "databases", "team-api", false},
		// The account of an entry runs its Stacks. The teams' namespaces are not its business.
		{seller, "create", "", "secrets", entry, true},
		{seller, "get", "", "secrets", "team-web", false},
		{seller, "create", "", "secrets", "team-web", false},
		{seller, "get", catalogue.Group, "databases", "team-web", false},
		{seller, "create", catalogue.Group, "databases", entry, false},
		// The operator writes results where teams are, and Stacks where entries are.
		{operator, "create", catalogue.Group, "databases", "team-web", false},
		{operator, "delete", catalogue.Group, "databases", "team-web", false},
		{operator, "delete", "", "secrets", "team-web", false},
		{operator, "create", "pulumi.com", "stacks", "team-web", false},
		{operator, "create", "", "secrets", entry, false},
		{operator, "create", "", "secrets", "flux-system", false},
		{operator, "create", "", "secrets", platform.PlatformNamespace, false},
		{operator, "patch", catalogue.Group, "databases/status", "flux-system", false},
		{operator, "create", "apiextensions.k8s.io", "customresourcedefinitions", "", false},
	} {
		resource, subresource, _ := strings.Cut(test.resource, "/")
		attributes := authorizationv1.ResourceAttributes{Verb: test.verb, Group: test.group, Resource: resource, Subresource: subresource, Namespace: test.namespace}
		if got := c.may(t, test.who, attributes); got != test.want {
			t.Errorf("%s may %s %s in %q: %v, want %v", test.who, test.verb, test.resource, test.namespace, got, test.want)
		}
	}
}

// TestThePageListsTheRightsOfTheCatalogue compares the table on the page with the roles.
func TestThePageListsTheRightsOfTheCatalogue(t *testing.T) {
	database, err := catalogue.Load(catalogue.Files, "database")
	if err != nil {
		t.Fatal(err)
	}
	where := map[string]string{
		platform.RoleOperator: "everywhere", platform.RoleOperatorEntry: "entries' namespaces", platform.RoleOperatorOrders: "teams' namespaces",
		platform.RoleTeamOrders: "its namespace, if it says `stacks`",
	}
	roles := platform.CatalogueRoles([]*catalogue.Entry{database})
	want := "| role | where | may | on |\n|---|---|---|---|\n"
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		for _, rule := range roles[role] {
			want += fmt.Sprintf("| `%s` | %s | %s | %s |\n", role, where[role], strings.Join(rule.Verbs, ", "), objects(rule))
		}
	}
	page, err := os.ReadFile(hopsPage)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- catalogue rights -->\n")
	if listed, _, _ := strings.Cut(rest, "<!-- end"); listed != want {
		t.Errorf("the page has\n%s\nwant\n%s", listed, want)
	}
}
