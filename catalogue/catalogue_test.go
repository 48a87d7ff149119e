package catalogue_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/catalogue"
	v1 "github.com/strata-platform/strata/operator/api/v1"
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

// TestTheProgramOfEachEntryFitsItsSchema checks Strata's own entries.
func TestTheProgramOfEachEntryFitsItsSchema(t *testing.T) {
	names, err := catalogue.List(catalogue.Files)
	if err != nil || len(names) == 0 {
		t.Fatalf("the entries are %v, error %v", names, err)
	}
	for _, name := range names {
		entry, err := catalogue.Load(catalogue.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		content, err := catalogue.Files.ReadFile(name + "/" + catalogue.ProgramFile)
		if err != nil {
			t.Fatal(err)
		}
		var program v1.Program
		if err := yaml.UnmarshalStrict(content, &program); err != nil {
			t.Fatal(err)
		}
		if program.Name != name {
			t.Errorf("the Program of %s has the name %s, which no Stack refers to", name, program.Name)
		}
		for key := range program.Program.Configuration {
			if _, is := entry.Spec.Properties[key]; !is && !slices.Contains(catalogue.Provided(), key) {
				t.Errorf("the Program of %s has the configuration %s, which an order does not set", name, key)
			}
		}
		for key := range entry.Results.ConfigMap {
			if _, is := program.Program.Outputs[key]; !is {
				t.Errorf("the Program of %s has no output %s, which its results have", name, key)
			}
		}
	}
}
