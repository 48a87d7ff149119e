// Package editor writes the JSON Schema of the objects that a team commits, for editors.
//
// The schema is of draft 7, which yaml-language-server understands.
package editor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// object is a JSON object.
type object = map[string]any

// Team describes the team of a schema.
type Team struct {
	// Definitions are the kinds of the schema. Other kinds are valid with any content.
	Definitions []*apiextensionsv1.CustomResourceDefinition
	// Types are the resource types that the team's Programs may declare, as TenantPolicies contain them: names in every
	// spelling, and prefixes.
	Names, Prefixes []string
	// Packages are the schemas of Pulumi's packages. A type without a schema has any properties.
	Packages []*Package
}

// Most bounds the size of a schema in bytes. A schema that is larger loses first the descriptions, and then the properties of
// the resource types.
const Most = 512 << 10

// Schema returns the JSON Schema for a team.
func Schema(team Team) ([]byte, error) {
	for _, detail := range []detail{{docs: true, properties: true}, {properties: true}, {}} {
		made, err := detail.schema(team)
		if err != nil || len(made) <= Most {
			return made, err
		}
	}
	return nil, fmt.Errorf("the schema of the team has more than %d bytes: allow fewer types in teams.yaml", Most)
}

// detail says what a schema contains.
type detail struct{ docs, properties bool }

func (d detail) schema(team Team) ([]byte, error) {
	kinds, cases := []string{}, []any{}
	definitions := object{"expression": expression()}
	for _, each := range team.Definitions {
		kind := each.Spec.Names.Kind
		version := each.Spec.Versions[0]
		content, err := plain(version.Schema.OpenAPIV3Schema)
		if err != nil {
			return nil, fmt.Errorf("read the schema of kind %s: %w", kind, err)
		}
		d.strict(content)
		properties := content["properties"].(object)
		properties["apiVersion"] = object{"const": each.Spec.Group + "/" + version.Name}
		properties["metadata"] = object{"type": "object"}
		delete(properties, "status")
		if spec, ok := properties["spec"].(object); ok && kind == "Stack" {
			// The platform fills in the required fields of a Stack.
			delete(spec, "required")
		}
		if kind == "Program" {
			if err := d.program(content, team, definitions); err != nil {
				return nil, err
			}
		}
		definitions[kind] = content
		kinds = append(kinds, kind)
		cases = append(cases, object{
			"if":   object{"properties": object{"apiVersion": object{"const": each.Spec.Group + "/" + version.Name}, "kind": object{"const": kind}}, "required": []string{"apiVersion", "kind"}},
			"then": object{"$ref": "#/definitions/" + kind},
		})
	}
	return json.Marshal(object{
		"$schema": "http://json-schema.org/draft-07/schema#", "title": "Objects of the team: " + strings.Join(kinds, ", "),
		"type": "object", "allOf": cases, "definitions": definitions,
	})
}

// plain returns a schema as plain JSON values.
func plain(schema any) (object, error) {
	encoded, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var made object
	return made, json.Unmarshal(encoded, &made)
}

// strict turns the schema of a kind into one for editors: it refuses unknown fields, as the API server does for Flux.
func (d detail) strict(schema object) {
	open := schema["x-kubernetes-preserve-unknown-fields"] == true
	if schema["x-kubernetes-int-or-string"] == true {
		schema["type"] = []string{"integer", "string"}
	}
	if schema["nullable"] == true {
		if kind, ok := schema["type"].(string); ok {
			schema["type"] = []string{kind, "null"}
		}
		delete(schema, "nullable")
	}
	for key := range schema {
		if strings.HasPrefix(key, "x-kubernetes-") || key == "description" && !d.docs {
			delete(schema, key)
		}
	}
	properties, _ := schema["properties"].(object)
	for _, each := range properties {
		if inner, ok := each.(object); ok {
			d.strict(inner)
		}
	}
	if _, given := schema["additionalProperties"]; properties != nil && !given && !open {
		schema["additionalProperties"] = false
	}
	for _, key := range []string{"items", "additionalProperties", "not"} {
		if inner, ok := schema[key].(object); ok {
			d.strict(inner)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		// These repeat parts of the same object, which may have other fields.
		delete(schema, key)
	}
}

// expression is a value that only a run knows: a reference or the call of a function.
func expression() object {
	return object{"anyOf": []any{
		object{"type": "string", "pattern": `\$\{`},
		object{"type": "object", "minProperties": 1, "patternProperties": object{"^[fF][nN]::": object{}}, "additionalProperties": false},
	}}
}

// program restricts the resources of a Program to the types of the team.
func (d detail) program(content object, team Team, definitions object) error {
	resource, err := resourceOf(content)
	if err != nil {
		return err
	}
	names := slices.Clone(team.Names)
	var cases []any
	for _, pkg := range team.Packages {
		for _, token := range pkg.allowed(team) {
			spellings := spellings(token)
			names = append(names, spellings...)
			if !d.properties {
				continue
			}
			made, required := pkg.properties(token, d.docs)
			then := object{"properties": object{"properties": made}}
			if len(required) > 0 {
				// A resource that is only read has no properties.
				then["anyOf"] = []any{object{"required": []string{"properties"}}, object{"required": []string{"get"}}}
			}
			definitions[token] = then
			cases = append(cases, object{
				"if":   object{"properties": object{"type": object{"enum": spellings}}, "required": []string{"type"}},
				"then": object{"$ref": "#/definitions/" + pointer(token)},
			})
		}
	}
	slices.Sort(names)
	kinds := []any{object{"enum": slices.Compact(names)}}
	for _, prefix := range team.Prefixes {
		if !slices.ContainsFunc(team.Packages, func(pkg *Package) bool { return pkg.has(prefix) }) {
			kinds = append(kinds, object{"type": "string", "pattern": "^" + quote(prefix)})
		}
	}
	resource["properties"].(object)["type"] = object{"anyOf": kinds}
	if len(cases) > 0 {
		resource["allOf"] = cases
	}
	return nil
}

// resourceOf returns the schema of a resource in the schema of Program.
func resourceOf(content object) (object, error) {
	at := content
	for _, key := range []string{"properties", "program", "properties", "resources", "additionalProperties"} {
		inner, ok := at[key].(object)
		if !ok {
			return nil, fmt.Errorf("the kind Program has no field %s where the schema of its resources is", key)
		}
		at = inner
	}
	return at, nil
}

// pointer escapes a key for a JSON pointer in a URI.
func pointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// quote quotes a text for a regular expression of ECMAScript.
func quote(text string) string {
	return strings.NewReplacer(`\`, `\\`, ".", `\.`, "/", `\/`, "*", `\*`, "+", `\+`).Replace(text)
}
