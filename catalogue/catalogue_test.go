package catalogue_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/strata-platform/strata/catalogue"
)

const cache = `apiVersion: strata/v1
kind: CatalogueEntry
names: {kind: Cache, plural: caches}
description: A cache.
spec:
  type: object
  properties:
    size: {type: string, description: Its size.}
`

func load(content string) (*catalogue.Entry, error) {
	return catalogue.Load(fstest.MapFS{"cache/entry.yaml": {Data: []byte(content)}}, "cache")
}

func TestAnEntryIsRefusedWhere(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"the format is another":            {"strata/v1", "strata/v2", `apiVersion is "strata/v2"`},
		"the kind is not that of the name": {"Cache,", "Queue,", "in lower case it must be the name of the folder, cache"},
		"the plural is the singular":       {"caches", "cache", `names.plural "cache" is not the plural of cache`},
		"nothing describes it":             {"description: A cache.\n", "", "description is missing"},
		"a field is unknown":               {"description: A", "speck: {}\ndescription: A", `unknown field "speck"`},
		"a field has no type":              {"type: string, ", "", "spec.properties.size.type is missing"},
		"a field has no description":       {", description: Its size.", "", "spec.properties.size.description is missing"},
		"a field would set a name":         {"    size:", "    name:", "spec.properties.name is reserved"},
		"a field would set the context":    {"    size:", "    instance:", "spec.properties.instance is reserved"},
		"a field is no key of a Program":   {"    size:", "    gcp:project:", "is not a name that a Program can use"},
		"the spec is no object":            {"  type: object", "  type: string", `spec.type is "string"`},
	} {
		t.Run(name, func(t *testing.T) {
			content := strings.Replace(cache, test.old, test.new, 1)
			if content == cache {
				t.Fatal("the test changes nothing")
			}
			if _, err := load(content); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, test.want)
			}
		})
	}
	if _, err := load(cache); err != nil {
		t.Errorf("the entry itself is refused: %v", err)
	}
	for _, missing := range []string{"queue", "../cache", "Cache", "a-b", strings.Repeat("a", 16)} {
		if _, err := catalogue.Load(fstest.MapFS{}, missing); err == nil {
			t.Errorf("entry %q is accepted", missing)
		}
	}
}

// TestStratasOwnEntriesAreValid checks the entries that this package contains.
func TestStratasOwnEntriesAreValid(t *testing.T) {
	names, err := catalogue.List(catalogue.Files)
	if err != nil || !slices.Equal(names, []string{"bucket", "database"}) {
		t.Fatalf("the entries are %v, error %v", names, err)
	}
	for _, name := range names {
		for _, problem := range catalogue.Lint(catalogue.Files, name) {
			t.Error(problem)
		}
	}
}

const program = `apiVersion: pulumi.com/v1
kind: Program
metadata: {name: cache, annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}
program:
  configuration: {size: {type: String}, name: {type: String}}
  resources:
    secret: {type: "kubernetes:core/v1:Secret", properties: {metadata: {name: "${results}"}}}
  outputs: {host: x}
`

func TestLintFindsWhatDoesNotFit(t *testing.T) {
	entry := strings.Replace(cache, "spec:", "results: {secret: {password: It.}, configMap: {host: It.}}\nspec:", 1)
	lint := func(program string) []string {
		return catalogue.Lint(fstest.MapFS{"cache/entry.yaml": {Data: []byte(entry)}, "cache/program.yaml": {Data: []byte(program)}}, "cache")
	}
	if problems := lint(program); len(problems) > 0 {
		t.Fatalf("the Program itself has problems: %v", problems)
	}
	for name, test := range map[string]struct{ old, new, want string }{
		"a Program of another name":       {"name: cache", "name: caches", `its name is "caches": the Stacks of orders refer to cache`},
		"a Program that Flux substitutes": {"disabled", "enabled", "Flux would substitute ${...}"},
		"configuration that nobody sets":  {"size: {", "sise: {", `no order sets its configuration "sise": an order sets instance, name, order, project, region, results, size, team`},
		"an output that is missing":       {"host: x", "port: x", `it has no output "host"`},
		"a Secret of another name":        {"${results}", "results", "it has no Secret with the name ${results}"},
		"another kind":                    {"kind: Program", "kind: Stack", "it is a Stack of pulumi.com/v1"},
		"no YAML":                         {"program:", "program", "program.yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			problems := lint(strings.Replace(program, test.old, test.new, 1))
			if len(problems) != 1 || !strings.Contains(problems[0], test.want) || strings.Contains(problems[0], "\n") {
				t.Errorf("the problems are %q, want one with %q", problems, test.want)
			}
		})
	}
}

func TestAnOrderAsYAML(t *testing.T) {
	entry, err := catalogue.Load(catalogue.Files, "database")
	if err != nil {
		t.Fatal(err)
	}
	got, err := entry.Order("orders", map[string]string{"size": "small", "onDelete": "delete"})
	want := "apiVersion: catalogue.strata.dev/v1\nkind: Database\nmetadata:\n  name: orders\nspec:\n  onDelete: delete\n  size: small\n"
	if err != nil || string(got) != want {
		t.Errorf("error %v, the order is\n%s\nwant\n%s", err, got, want)
	}
	if got, err := entry.Order("orders", nil); err != nil || strings.Count(string(got), "\n") != 4 {
		t.Errorf("error %v, an order of defaults is\n%s", err, got)
	}
	for name, test := range map[string]struct {
		name string
		set  map[string]string
		want string
	}{
		"a field that is not there": {"a", map[string]string{"sise": "small"}, `a Database has no "sise": it has engine, onDelete, size`},
		"a value that is not there": {"a", map[string]string{"size": "huge"}, `size "huge" is not one of small`},
		"a name with two hyphens":   {"a--b", nil, `the name "a--b" is not at most 30`},
		"two problems at once":      {"A", map[string]string{"engine": "x"}, `the name "A" is not at most 30 lower-case letters, digits and single hyphens; engine "x" is not one of mysql`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := entry.Order(test.name, test.set); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
