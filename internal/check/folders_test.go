package check_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/check/teamfile"
)

// folders is the list of teams of a platform with a team whose repository has two folders.
const folders = `{"apiVersion": "strata/v1", "kind": "Teams", "teams": [{"name": "web", "path": "./apps", "may": ["workloads", "stacks"],
  "accounts": [{"name": "infra", "may": ["stacks"], "path": "./infra"}]}]}`

func TestTheFoldersOfATeamAreCheckedTogether(t *testing.T) {
	const (
		service   = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}]}\n"
		configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
		stack     = "apiVersion: pulumi.com/v1\nkind: Stack\nmetadata: {name: %s}\nspec: {programRef: {name: %s}%s}\n"
		database  = "    db:\n      type: gcp:sql:Database\n      properties: {name: web_a, instance: '${platform:instance}'}\n"
	)
	other := strings.Replace(pet, "name: pets", "name: others", 1)
	for name, tc := range map[string]struct {
		apps, infra string
		want        []string
	}{
		"objects of their own": {"# web\n" + pet, other, nil},
		"the same object": {"# web\n" + pet, pet, []string{
			"infra/app.yaml:3:12 twice: Program pets is applied from ./infra, and also from ./apps (apps/app.yaml:4): each of the two Kustomizations overwrites the other's object",
		}},
		"the same object, once refused": {service, service, []string{
			"infra/app.yaml:2:1 forbidden: Service team-web/a is refused: the account team-web/infra may not patch services",
		}},
		"the same name of another kind":            {configMap, strings.Replace(pet, "name: pets", "name: a", 1), nil},
		"a Stack of a Program in the other folder": {fmt.Sprintf(stack, "one", "pets", ", config: {size: 1}"), pet + "  outputs:\n    size: ${size}\n", nil},
		"a Program without a Stack in any folder":  {"", pet + "  outputs:\n    size: ${size}\n", []string{`infra/app.yaml:8:5 program: Program pets: program.outputs.size: "size" could not be found`}},
		"a database of Stacks in two folders": {
			pet + database + "---\n" + fmt.Sprintf(stack, "one", "pets", ""), other + database + "---\n" + fmt.Sprintf(stack, "two", "others", ""),
			[]string{`infra/app.yaml:5:3 owner: Stack two: resource "db" is the database web_a, and Stack one creates it at this moment`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{teamfile.Folder + "/" + teamfile.Name: folders}
			maps.Copy(files, map[string]string{
				"apps/kustomization.yaml": lists, "apps/app.yaml": tc.apps, "infra/kustomization.yaml": lists, "infra/app.yaml": tc.infra,
			})
			var got []string
			for _, each := range run(t, repository(t, files)).Findings {
				got = append(got, fmt.Sprintf("%s:%d:%d %s: %s", each.File, each.Line, each.Column, each.Rule, each.Message))
			}
			equal := len(got) == len(tc.want)
			for i := range tc.want {
				equal = equal && strings.HasPrefix(got[i], tc.want[i])
			}
			if !equal {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(tc.want, "\n     "))
			}
		})
	}
}
