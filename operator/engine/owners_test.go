package engine

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

// ownerRun returns a run of stack dev of project web in a folder of states.
func ownerRun(t *testing.T, states, program string, created *creations) *run {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Pulumi.yaml"), []byte("name: web\nruntime: yaml\n"+program), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	read, err := project.Read(root, "")
	if err != nil {
		t.Fatal(err)
	}
	return &run{
		mask: newMask(Request{}), files: root, project: *read, located: backend.Backend{Folder: "."}, created: created,
		Request: Request{
			Operation: Up, Project: "web", Stack: "dev", BackendFolder: states, Config: map[string]json.RawMessage{"instance": json.RawMessage(`"strata"`)},
			Named: func(project, stack string) string {
				if project == "shop" {
					return "Stack shop"
				}
				return ""
			},
		},
	}
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
		"the type in another spelling":              {shop, stateWith(user), strings.Replace(asUser, "gcp:sql:User", "GCP:sql/user:USER", 1), takesUser},
		"another host":                              {shop, stateWith("gcp:sql/user:User web_a/10.0.0.1/strata"), asUser, takesUser},
		"a name in capitals":                        {shop, stateWith(user), strings.Replace(asUser, "web_a", "web_A", 1), takesUser},
		"a name from the config":                    {shop, stateWith(user), "configuration: {n: {default: a}}\n" + strings.Replace(asUser, "web_a", `"web_${n}"`, 1), takesUser},
		"an instance that is known only at runtime": {shop, stateWith(user), strings.Replace(asUser, "${instance}", "${i.name}", 1), strings.Replace(takesUser, " of instance strata", "", 1)},
		"an instance as a link":                     {shop, stateWith(user), strings.Replace(asUser, "${instance}", "projects/p/instances/strata", 1), takesUser},
		"a user in a component":                     {shop, stateWith(user), "components: {c: {" + asUser + "}}", takesUser},
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
			got := ""
			if err := ownerRun(t, states, c.program, &creations{}).checkOwners(t.Context()); err != nil {
				got = asError(err).Message
			}
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
	if err := ownerRun(t, states, "resources: {u: {type: 'gcp:sql:User', properties: {name: web_a, instance: strata}}}", &creations{}).checkOwners(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTwoRunsDoNotCreateTheSameUserAtOnce(t *testing.T) {
	const program = "resources: {u: {type: 'gcp:sql:User', properties: {name: web_a, instance: strata}}}"
	states, created := t.TempDir(), &creations{}
	first, second, elsewhere := ownerRun(t, states, program, created), ownerRun(t, states, program, created), ownerRun(t, t.TempDir(), program, created)
	second.Project = "shop"
	if err := first.checkOwners(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := elsewhere.checkOwners(t.Context()); err != nil {
		t.Errorf("a team is refused a user of another one: %v", err)
	}
	err := second.checkOwners(t.Context())
	if err == nil || !strings.Contains(err.Error(), "stack dev of project web creates it at this moment") {
		t.Errorf("the second run is not refused: %v", err)
	}
	created.release(first)
	if err := second.checkOwners(t.Context()); err != nil {
		t.Errorf("after the first run has ended without a user: %v", err)
	}
}
