package program_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/check/program"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	operator "github.com/strata-platform/strata/operator/controller/program"
)

// random is a package with the form of the package of the same name.
const random = `{"name": "random", "version": "4.18.0", "resources": {
  "random:index/randomPet:RandomPet": {
    "properties": {"length": {"type": "integer"}, "prefix": {"type": "string"}},
    "inputProperties": {"length": {"type": "integer"}, "prefix": {"type": "string"}}},
  "random:index/randomPassword:RandomPassword": {
    "properties": {"length": {"type": "integer"}, "result": {"type": "string", "secret": true}}, "required": ["length", "result"],
    "inputProperties": {"length": {"type": "integer"}, "keepers": {"type": "object", "additionalProperties": {"type": "string"}}},
    "requiredInputs": ["length"]}}}`

// FuzzCheck checks Programs of a hostile team, as the API server stores them. The library of Pulumi's language host runs in the
// process of the check, so that a fault of the library must not end it.
func FuzzCheck(f *testing.F) {
	folder := f.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "random-4.18.0.json"), []byte(random), 0o600); err != nil {
		f.Fatal(err)
	}
	schemas := program.Open(folder)
	for _, seed := range programs {
		f.Add(seed.text)
	}
	for _, seed := range []string{
		"configuration: {a: {type: integer, default: x}}\nresources: {a: {type: 'random:RandomPet', properties: {length: '${a}'}}}",
		"variables: {a: {fn::invoke: {function: 'random:get', arguments: {x: '${a}'}, return: y}}}",
		"resources: {a: {type: 'random:RandomPet', get: {id: x, state: {length: 3}}, options: {dependsOn: ['${a}'], provider: '${a}', ignoreChanges: [length]}}}",
		"resources: {a: {type: 'random:RandomPassword', properties: {keepers: {fn::fromBase64: '${a.result[0][\"x\"].y}'}}}}",
		"outputs: {a: '${', b: '$${a}', c: '${a[', d: {fn::select: [9, []]}, e: {fn::join: ['', {fn::split: 1}]}}",
		"resources: {a: {type: 'pulumi:providers:random'}, b: {type: 'pulumi:pulumi:StackReference', properties: {name: x}}}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		made := &v1.Program{}
		made.Name = "shop"
		if err := yaml.UnmarshalStrict([]byte(text), &made.Program); err != nil {
			t.Skip("the API server refuses it")
		}
		content, _, err := operator.ProjectFile(made)
		if err != nil || operator.Check(made, nil) != nil {
			t.Skip("the operator refuses it before the types count")
		}
		faults, _ := schemas.Check(content, []string{"platform:instance"})
		for _, fault := range faults {
			if strings.TrimSpace(fault.Message) == "" {
				t.Errorf("a fault of %q says nothing", text)
			}
		}
	})
}
