package owners

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/project"
)

// stateWith returns a state file with resources, each in the form "TYPE ID".
func stateWith(resources ...string) string {
	var list []string
	for _, each := range resources {
		typ, id, _ := strings.Cut(each, " ")
		list = append(list, fmt.Sprintf(`{"urn": "u", "type": %q, "custom": true, "id": %q, "inputs": {"name": {"4dabf18193072939515e22adb298388d": "x"}}}`, typ, id))
	}
	return `{"checkpoint": {"latest": {"resources": [` + strings.Join(list, ", ") + `]}}}`
}

// runOf returns a run of stack dev of a project in a folder of states.
func runOf(t *testing.T, states, name, program string) *Run {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Pulumi.yaml"), []byte("name: web\nruntime: yaml\n"+program), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	read, err := project.Read(root, "")
	if err != nil {
		t.Fatal(err)
	}
	declared, defaults, err := read.Databases(root)
	if err != nil {
		t.Fatal(err)
	}
	return &Run{
		Declared: declared, Defaults: defaults, Config: map[string]json.RawMessage{"instance": json.RawMessage(`"strata"`)},
		State: backend.State{Backend: backend.Backend{Folder: "."}, Parent: states, Project: name, Stack: "organization/" + name + "/dev"},
		Named: func(project, _ string) string {
			if project == "shop" {
				return "Stack shop"
			}
			return ""
		},
	}
}

// begin returns the message of the run's error, or "".
func begin(t *testing.T, g *Registry, r *Run) string {
	t.Helper()
	_, end, err := g.Begin(t.Context(), r)
	t.Cleanup(end)
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestASecondOwnerOfADatabaseOrUserIsRefused(t *testing.T) {
	const (
		user      = "gcp:sql/user:User web_a/%/strata"
		database  = "gcp:sql/database:Database projects/p/instances/strata/databases/web_a"
		shop      = ".pulumi/stacks/shop/dev.json"
		asUser    = "resources: {u: {type: 'gcp:sql:User', properties: {name: web_a, instance: \"${instance}\"}}}"
		takesUser = `resource "u" is the user web_a of instance strata, and Stack shop owns it: choose another name, or remove it from Stack shop first`
	)
	for name, c := range map[string]struct {
		file, state, program string
		want                 string
	}{
		"a user of another Stack":                   {shop, stateWith(user), asUser, takesUser},
		"a user of another project's Stack":         {".pulumi/stacks/other/prod.json", stateWith(user), asUser, strings.ReplaceAll(takesUser, "Stack shop", "stack prod of project other")},
		"a user in a folder below":                  {"below/.pulumi/stacks/shop/dev.json", stateWith(user), asUser, takesUser},
		"a user of another stack of the project":    {".pulumi/stacks/web/prod.json", stateWith(user), asUser, strings.ReplaceAll(takesUser, "Stack shop", "stack prod of project web")},
		"a database of another Stack":               {shop, stateWith(database), strings.Replace(asUser, "User", "Database", 1), strings.Replace(takesUser, "the user", "the database", 1)},
		"a database by a component":                 {shop, stateWith(database), strings.Replace(asUser, "gcp:sql:User", "strata:index:Database", 1), strings.Replace(takesUser, "the user", "the database", 1)},
		"a user by a component":                     {shop, stateWith(user), strings.Replace(asUser, "gcp:sql:User", "strata:index:Database", 1), takesUser},
		"the type in another spelling":              {shop, stateWith(user), strings.Replace(asUser, "gcp:sql:User", "GCP:sql/user:USER", 1), takesUser},
		"another host":                              {shop, stateWith("gcp:sql/user:User web_a/10.0.0.1/strata"), asUser, takesUser},
		"a name in capitals":                        {shop, stateWith(user), strings.Replace(asUser, "web_a", "web_A", 1), takesUser},
		"a name from the config":                    {shop, stateWith(user), "configuration: {n: {default: a}}\n" + strings.Replace(asUser, "web_a", `"web_${n}"`, 1), takesUser},
		"an instance that is known only at runtime": {shop, stateWith(user), strings.Replace(asUser, "${instance}", "${i.name}", 1), strings.Replace(takesUser, " of instance strata", "", 1)},
		"an instance as a link":                     {shop, stateWith(user), strings.Replace(asUser, "${instance}", "projects/p/instances/strata", 1), takesUser},
		"a user in a component":                     {shop, stateWith(user), "components: {c: {" + asUser + "}}", strings.Replace(takesUser, " of instance strata", "", 1)},
		"an import":                                 {shop, stateWith(user), strings.Replace(asUser, "}}}", "}, options: {import: x}}}", 1), takesUser},
		"a user of an instance of that name":        {shop, stateWith("gcp:sql/user:User web_a/%/other"), asUser, ""},
		"another user":                              {shop, stateWith(strings.Replace(user, "web_a", "web_b", 1)), asUser, ""},
		"a database with the user's name":           {shop, stateWith(database), asUser, ""},
		"its own user":                              {".pulumi/stacks/web/dev.json", stateWith(user), asUser, ""},
		"a user that is only read":                  {shop, stateWith(user), "resources: {u: {type: 'gcp:sql:User', get: {id: x}}}", ""},
		"a name that is known only at runtime":      {shop, stateWith(user), strings.Replace(asUser, "web_a", `"web_${r.id}"`, 1), ""},
		"a copy of a state":                         {".pulumi/backups/shop/dev.json", stateWith(user), asUser, ""},
		"a damaged state":                           {shop, "}", asUser, ""},
	} {
		t.Run(name, func(t *testing.T) {
			states := t.TempDir()
			path := filepath.Join(states, c.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(c.state), 0o600); err != nil {
				t.Fatal(err)
			}
			got := begin(t, &Registry{}, runOf(t, states, "web", c.program))
			if got != c.want {
				t.Errorf("the error is\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestAStackThatSharesAUserAlreadyStillRuns(t *testing.T) {
	states := t.TempDir()
	const user = "gcp:sql/user:User web_a/%/strata"
	for _, file := range []string{".pulumi/stacks/web/dev.json", ".pulumi/stacks/shop/dev.json"} {
		path := filepath.Join(states, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(stateWith(user)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := begin(t, &Registry{}, runOf(t, states, "web", "resources: {u: {type: 'gcp:sql:User', properties: {name: web_a, instance: strata}}}")); got != "" {
		t.Error(got)
	}
}

func TestTwoRunsDoNotCreateTheSameUserAtOnce(t *testing.T) {
	const program = "resources: {u: {type: 'gcp:sql:User', properties: {name: web_a, instance: strata}}}"
	states, g := t.TempDir(), &Registry{}
	first, second := runOf(t, states, "web", program), runOf(t, states, "other", program)
	_, end, err := g.Begin(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if got := begin(t, g, runOf(t, t.TempDir(), "other", program)); got != "" {
		t.Errorf("a team is refused a user of another one: %s", got)
	}
	want := `resource "u" is the user web_a of instance strata, and stack dev of project web creates it at this moment: choose another name, or remove it from stack dev of project web first`
	if got := begin(t, g, second); got != want {
		t.Errorf("the second run is told %q", got)
	}
	end()
	if got := begin(t, g, second); got != "" {
		t.Errorf("after the first run has ended without a user: %s", got)
	}
}
