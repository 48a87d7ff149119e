package editor_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/examples"
	"github.com/strata-platform/strata/internal/check/admission"
	"github.com/strata-platform/strata/internal/check/editor"
)

// random is a package with the form of the package of the same name.
const random = `{"name": "random", "resources": {
  "random:index/randomPet:RandomPet": {"inputProperties": {"length": {"type": "integer", "description": "Words."}, "prefix": {"type": "string"}}},
  "random:index/randomPassword:RandomPassword": {"inputProperties": {"length": {"type": "integer"}, "special": {"type": "boolean"}}, "requiredInputs": ["length"]}}}`

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	definitions, err := admission.Definitions(nil)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := editor.ReadPackage([]byte(random))
	if err != nil {
		t.Fatal(err)
	}
	content, err := editor.Schema(editor.Team{
		Definitions: definitions, Packages: []*editor.Package{pkg},
		Names:    []string{"gcp:sql/database:Database", "gcp:sql:Database", "gcp:sql/user:User", "gcp:sql:User", "kubernetes:core/v1:Secret"},
		Prefixes: []string{"random:"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(content) > editor.Most || !strings.Contains(string(content), "Words.") {
		t.Errorf("the schema has %d bytes, or no descriptions", len(content))
	}
	compiler := jsonschema.NewCompiler()
	compiler.Draft = jsonschema.Draft7
	if err := compiler.AddResource("schema.json", strings.NewReader(string(content))); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func validate(t *testing.T, schema *jsonschema.Schema, manifest string) error {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(content, &value); err != nil {
		t.Fatal(err)
	}
	return schema.Validate(value)
}

func TestTheSchemaAcceptsWhatTheTeamMayDeclare(t *testing.T) {
	schema := compile(t)
	const program = "apiVersion: pulumi.com/v1\nkind: Program\nmetadata: {name: a}\nprogram: "
	const stack = "apiVersion: pulumi.com/v1\nkind: Stack\nmetadata: {name: a}\nspec: "
	for name, tc := range map[string]struct {
		manifest string
		refused  bool
	}{
		"a pet":                     {program + "{resources: {a: {type: 'random:RandomPet', properties: {length: 3}}}}", false},
		"the long spelling":         {program + "{resources: {a: {type: 'random:index/randomPet:RandomPet'}}}", false},
		"a reference for a number":  {program + "{resources: {a: {type: 'random:RandomPet', properties: {length: '${x}'}}}}", false},
		"a function for a number":   {program + "{resources: {a: {type: 'random:RandomPet', properties: {length: {'fn::invoke': {function: a}}}}}}", false},
		"a type without a schema":   {program + "{resources: {a: {type: 'gcp:sql:Database', properties: {name: web}}}}", false},
		"a resource that is read":   {program + "{resources: {a: {type: 'random:RandomPassword', get: {id: a}}}}", false},
		"another kind":              {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replica: 1}", false},
		"a Stack":                   {stack + "{programRef: {name: a}, refresh: true}", false},
		"a type of another package": {program + "{resources: {vm: {type: 'gcp:compute:Instance'}}}", true},
		"an unknown type":           {program + "{resources: {a: {type: 'random:RandomPett'}}}", true},
		"an unknown property":       {program + "{resources: {a: {type: 'random:RandomPet', properties: {size: 3}}}}", true},
		"a wrong type":              {program + "{resources: {a: {type: 'random:RandomPet', properties: {length: [3]}}}}", true},
		"a missing property":        {program + "{resources: {a: {type: 'random:RandomPassword', properties: {special: true}}}}", true},
		"no properties at all":      {program + "{resources: {a: {type: 'random:RandomPassword'}}}", true},
		"an unknown option":         {program + "{resources: {a: {type: 'random:RandomPet', options: {protectt: true}}}}", true},
		"an unknown field":          {stack + "{programRef: {name: a}, refrehs: true}", true},
		"a field of another type":   {stack + "{programRef: {name: a}, refresh: maybe}", true},
	} {
		if err := validate(t, schema, tc.manifest); (err != nil) != tc.refused {
			t.Errorf("%s: %v, want it refused: %v", name, err, tc.refused)
		}
	}
}

func TestTheSchemaAcceptsTheExamples(t *testing.T) {
	schema := compile(t)
	for _, name := range []string{"app-infra.yaml", "wordpress.yaml"} {
		content, err := examples.Files.ReadFile("wordpress/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			if err := validate(t, schema, document); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestASchemaOfManyTypesStaysSmall(t *testing.T) {
	definitions, err := admission.Definitions(nil)
	if err != nil {
		t.Fatal(err)
	}
	pkg := map[string]any{}
	for i := range 2000 {
		pkg["gcp:m/t"+strings.Repeat("x", i%20)+string(rune('a'+i%26))+":T"] = map[string]any{"inputProperties": map[string]any{"a": map[string]any{"type": "string", "description": strings.Repeat("text ", 60)}}}
	}
	content, err := json.Marshal(map[string]any{"name": "gcp", "resources": pkg})
	if err != nil {
		t.Fatal(err)
	}
	read, err := editor.ReadPackage(content)
	if err != nil {
		t.Fatal(err)
	}
	made, err := editor.Schema(editor.Team{Definitions: definitions, Packages: []*editor.Package{read}, Prefixes: []string{"gcp:"}})
	if err != nil || len(made) > editor.Most {
		t.Errorf("%d bytes: %v", len(made), err)
	}
}
