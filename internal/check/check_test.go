package check_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/examples"
	"github.com/strata-platform/strata/internal/check"
	"github.com/strata-platform/strata/internal/check/teamfile"
	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/operator/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	trial.Main()
	sandboxtest.Main(m)
}

// web is the list of teams of a platform with one team.
const web = `{"apiVersion": "strata/v1", "kind": "Teams", "teams": [{"name": "web"}], "catalogue": [{"name": "database"}]}`

// repository writes a team's repository. A content "-> TARGET" is a symbolic link.
func repository(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, isLink := strings.CutPrefix(content, "-> "); isLink {
			err = os.Symlink(target, file)
		} else {
			err = os.WriteFile(file, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func run(t testing.TB, dir string) *check.Report {
	t.Helper()
	team, limits, err := teamfile.Load(teamfile.Source{Repository: dir})
	if err != nil {
		t.Fatal(err)
	}
	result, err := check.Run(t.Context(), check.Options{Folder: dir, Team: team, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

const (
	lists   = "resources: [app.yaml]\n"
	pet     = "apiVersion: pulumi.com/v1\nkind: Program\nmetadata: {name: pets}\nprogram:\n  resources:\n    pet: {type: 'random:RandomPet'}\n"
	ofTypes = ". Programs of team web may declare gcp:sql/database:Database, gcp:sql/user:User, random:*, kubernetes:core/v1:ConfigMap, kubernetes:core/v1:Secret; for others ask the platform team"
)

// bad are repositories with one mistake, and the finding: its place, its rule and its words.
var bad = map[string]struct {
	files map[string]string
	want  string
}{
	"a file that is not YAML": {
		map[string]string{"app.yaml": "a: b\n  c: d\n"},
		"app.yaml:2:1 build: app.yaml is not valid YAML: mapping values are not allowed in this context (line 2)",
	},
	"the second document of a file is not YAML": {
		map[string]string{"app.yaml": pet + "---\na: b\nc: [\n"},
		"app.yaml:9:1 build: app.yaml is not valid YAML: did not find expected node content (line 9)",
	},
	"a listed file that is missing": {
		map[string]string{"kustomization.yaml": "resources:\n  - app.yaml\n  - gone.yaml\n", "app.yaml": pet},
		"kustomization.yaml:3:5 build: Flux cannot build it: kustomization.yaml lists gone.yaml, which does not exist",
	},
	"a kustomization.yaml that is not YAML": {
		map[string]string{"kustomization.yaml": "resources:\n  - app.yaml\n- gone.yaml\n", "app.yaml": pet},
		"kustomization.yaml:2:1 build: Flux cannot build it: error converting YAML to JSON: yaml: line 2: did not find expected key",
	},
	"an unlisted manifest": {
		map[string]string{"app.yaml": pet, "more/other.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"},
		"more/other.yaml:1:1 unlisted: not applied: no kustomization.yaml below ./ lists it",
	},
	"an unknown field of a Stack": {
		map[string]string{"app.yaml": "apiVersion: pulumi.com/v1\nkind: Stack\nmetadata: {name: pets}\nspec:\n  programRef: {name: pets}\n  refrehs: true\n"},
		"app.yaml:6:3 schema: Stack team-web/pets: its kind has no field spec.refrehs",
	},
	"an unknown field of a Deployment": {
		map[string]string{"app.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replica: 2\n  selector: {matchLabels: {a: b}}\n"},
		"app.yaml:5:3 schema: Deployment team-web/a: its kind has no field spec.replica",
	},
	"an unknown field below a list": {
		map[string]string{"app.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  ports:\n    - port: 80\n    - port: 81\n      label: b\n"},
		"app.yaml:8:7 schema: Service team-web/a: its kind has no field spec.ports[port=81,protocol=\"TCP\"].label",
	},
	"a field of another type": {
		map[string]string{"app.yaml": "apiVersion: pulumi.com/v1\nkind: Stack\nmetadata: {name: pets}\nspec:\n  programRef: {name: pets}\n  refresh: maybe\n"},
		"app.yaml:6:3 schema: Stack team-web/pets is refused: failed to create typed patch object (team-web/pets; pulumi.com/v1, Kind=Stack): .spec.refresh: expected boolean, got &{maybe}",
	},
	"a name that Kubernetes refuses": {
		map[string]string{"app.yaml": strings.Replace(pet, "name: pets", "name: My_Pets", 1)},
		"app.yaml:3:12 schema: Program team-web/My_Pets is refused: Program.pulumi.com \"My_Pets\" is invalid: metadata.name: Invalid value: \"My_Pets\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
	},
	"a kind that the team may not write": {
		map[string]string{"app.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a}\n"},
		"app.yaml:2:1 forbidden: Role team-web/a is refused: the account team-web/web may not patch roles",
	},
	"a kind of the whole cluster": {
		map[string]string{"app.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"},
		"app.yaml:2:1 forbidden: Namespace team-web is refused: the account team-web/web may not patch namespaces",
	},
	"a kind that no cluster knows": {
		map[string]string{"app.yaml": "apiVersion: example.com/v1\nkind: Wonder\nmetadata: {name: a}\n"},
		"app.yaml:2:1 kind: Wonder team-web/a: the cluster knows no kind Wonder of example.com/v1",
	},
	"a type that the team may not declare": {
		map[string]string{"app.yaml": pet + "    vm:\n      type: gcp:compute:Instance\n"},
		"app.yaml:8:7 policy: admission policy strata-programs rejects Program team-web/pets: resource \"vm\" is of type gcp:compute:Instance" + ofTypes,
	},
	"another team's database": {
		map[string]string{"app.yaml": pet + "    db:\n      type: gcp:sql:Database\n      properties:\n        name: hr\n"},
		"app.yaml:10:9 policy: admission policy strata-programs rejects Program team-web/pets: resource \"db\" has the name \"hr\", which only team hr may use. Programs of team web must name their databases and users web, or web_ followed by letters, digits, _ and -, up to 64 characters for a database and 32 for a user; ask the platform team",
	},
	"another account of a Stack": {
		map[string]string{"app.yaml": "apiVersion: pulumi.com/v1\nkind: Stack\nmetadata: {name: pets}\nspec:\n  programRef: {name: pets}\n  serviceAccountName: admin\n"},
		"app.yaml:6:3 policy: admission policy strata-stacks rejects Stack team-web/pets: spec.serviceAccountName is admin. Stacks of team web may run as web; for others ask the platform team",
	},
	"a reference to nothing": {
		map[string]string{"app.yaml": pet + "  outputs:\n    name: ${pett.id}\n"},
		"app.yaml:8:5 program: Program pets: program.outputs.name: \"pett\" could not be found: there is no resource, variable or config key of that name: did you mean \"pet\"?",
	},
	"a resource without a package": {
		map[string]string{"app.yaml": pet + "    other:\n      type: Pet\n"},
		"app.yaml:8:7 policy: admission policy strata-programs rejects Program team-web/pets: resource \"other\" is of type Pet" + ofTypes,
	},
	"an order of a wrong size": {
		map[string]string{"app.yaml": "apiVersion: catalogue.strata.dev/v1\nkind: Database\nmetadata: {name: shop}\nspec:\n  onDelete: never\n"},
		"app.yaml:5:3 schema: Database team-web/shop is refused: Database.catalogue.strata.dev \"shop\" is invalid: spec.onDelete: Unsupported value: \"never\": supported values: \"keep\", \"delete\"",
	},
	"a database of two Stacks": {
		map[string]string{"app.yaml": pet + "    db:\n      type: gcp:sql:Database\n      properties: {name: web_a, instance: '${platform:instance}'}\n" +
			"---\napiVersion: pulumi.com/v1\nkind: Stack\nmetadata: {name: one}\nspec: {programRef: {name: pets}}\n" +
			"---\napiVersion: pulumi.com/v1\nkind: Stack\nmetadata: {name: two}\nspec: {programRef: {name: pets}}\n"},
		"app.yaml:5:3 owner: Stack two: resource \"db\" is the database web_a, and Stack one creates it at this moment: choose another name, or remove it from Stack one first",
	},
	"a field of a Stack without effect": {
		map[string]string{"app.yaml": "apiVersion: pulumi.com/v1\nkind: Stack\nmetadata: {name: pets}\nspec:\n  programRef: {name: pets}\n  expectNoRefreshChanges: true\n"},
		"app.yaml:6:3 stack: Stack pets: spec.expectNoRefreshChanges: has no effect without spec.refresh: set both, or remove this field",
	},
	"a file outside of the repository": {
		map[string]string{"kustomization.yaml": "resources:\n  - ../other.yaml\n"},
		"kustomization.yaml:2:5 load: the push is rejected: kustomization.yaml: resources[0] ",
	},
	"an object twice": {
		map[string]string{"app.yaml": pet + "---\n" + pet},
		"app.yaml:1:1 build: Flux cannot build it: app.yaml contains Program pets a second time: rename or remove one of the two",
	},
}

func TestCheckNamesEachMistake(t *testing.T) {
	for name, tc := range bad {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"kustomization.yaml": lists, teamfile.Folder + "/" + teamfile.Name: web}
			maps.Copy(files, tc.files)
			result := run(t, repository(t, files))
			var got []string
			for _, each := range result.Findings {
				got = append(got, fmt.Sprintf("%s:%d:%d %s: %s", each.File, each.Line, each.Column, each.Rule, each.Message))
			}
			if len(got) != 1 || !strings.HasPrefix(got[0], tc.want) || !strings.HasSuffix(tc.want, " ") && got[0] != tc.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), tc.want)
			}
		})
	}
}

// TestCheckFindsThePlaceThroughKustomize patches, renames and generates objects.
func TestCheckFindsThePlaceThroughKustomize(t *testing.T) {
	result := run(t, repository(t, map[string]string{
		teamfile.Folder + "/" + teamfile.Name: web,
		"kustomization.yaml":                  "namePrefix: my-\nresources: [base]\nconfigMapGenerator:\n  - {name: generated, literals: [a=b]}\n",
		"base/kustomization.yaml":             "resources: [app.yaml]\n",
		"base/app.yaml":                       "# A comment.\n" + pet + "    vm: {type: 'gcp:compute:Instance'}\n",
	}))
	if len(result.Findings) != 1 || result.Findings[0].File != "base/app.yaml" || result.Findings[0].Line != 8 ||
		!strings.Contains(result.Findings[0].Message, "Program team-web/my-pets") || result.Objects != 2 {
		t.Errorf("got %+v of %d objects", result.Findings, result.Objects)
	}
}

func TestAFolderWithoutObjectsIsNoted(t *testing.T) {
	result := run(t, repository(t, map[string]string{teamfile.Folder + "/" + teamfile.Name: web, "README.md": "a"}))
	if !slices.Contains(result.Notes, "nothing was checked: Flux would find no objects here; name the root of a team's repository") {
		t.Errorf("the notes are %q", result.Notes)
	}
}

func TestTheExamplesHaveNoFindings(t *testing.T) {
	for _, name := range []string{"wordpress", "shared-database"} {
		files := map[string]string{teamfile.Folder + "/" + teamfile.Name: web}
		entries, err := examples.Files.ReadDir(name)
		if err != nil {
			continue // The program contains only some of the examples.
		}
		for _, entry := range entries {
			content, err := examples.Files.ReadFile(name + "/" + entry.Name())
			if err != nil {
				t.Fatal(err)
			}
			files[entry.Name()] = string(content)
		}
		if result := run(t, repository(t, files)); len(result.Findings) > 0 || result.Objects == 0 {
			t.Errorf("%s: %+v", name, result.Findings)
		}
	}
}

func TestWithoutATeamTheCheckSaysWhatItLeavesOut(t *testing.T) {
	result := run(t, repository(t, map[string]string{"kustomization.yaml": lists, "app.yaml": pet + "    vm: {type: 'gcp:compute:Instance'}\n"}))
	if len(result.Findings) > 0 || !slices.ContainsFunc(result.Notes, func(note string) bool { return strings.Contains(note, "no team is known") }) {
		t.Errorf("got %+v and notes %v", result.Findings, result.Notes)
	}
}
