package editor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Package is the schema of a Pulumi package, as far as an editor needs it.
type Package struct {
	// Name is the package's name.
	Name      string              `json:"name"`
	Resources map[string]resource `json:"resources"`
	Types     map[string]resource `json:"types"`
}

// resource is a resource type, or a type of values.
type resource struct {
	Description    string          `json:"description"`
	Inputs         map[string]kind `json:"inputProperties"`
	RequiredInputs []string        `json:"requiredInputs"`
	Properties     map[string]kind `json:"properties"`
	Required       []string        `json:"required"`
	Type           string          `json:"type"`
	Enum           []struct {
		Value any `json:"value"`
	} `json:"enum"`
	Deprecated string `json:"deprecationMessage"`
}

// kind is the type of a property.
type kind struct {
	Type        string `json:"type"`
	Ref         string `json:"$ref"`
	Description string `json:"description"`
	Items       *kind  `json:"items"`
	Additional  *kind  `json:"additionalProperties"`
	OneOf       []kind `json:"oneOf"`
	Const       any    `json:"const"`
}

// ReadPackage reads the schema of a package.
func ReadPackage(content []byte) (*Package, error) {
	made := &Package{}
	if err := json.Unmarshal(content, made); err != nil {
		return nil, fmt.Errorf("read the schema of a Pulumi package: %w", err)
	}
	return made, nil
}

// has reports whether the package contains the types with a prefix.
func (p *Package) has(prefix string) bool { return strings.HasPrefix(prefix, p.Name+":") }

// allowed returns the tokens of the types that a team may declare, sorted.
func (p *Package) allowed(team Team) []string {
	var all []string
	for _, token := range slices.Sorted(maps.Keys(p.Resources)) {
		if slices.Contains(team.Names, token) || slices.ContainsFunc(team.Prefixes, func(prefix string) bool { return strings.HasPrefix(token, prefix) }) {
			all = append(all, token)
		}
	}
	return all
}

// spellings returns the spellings of a type that Pulumi's language host accepts: gcp:sql/user:User and gcp:sql:User, and
// random:index/randomPet:RandomPet and random:RandomPet.
func spellings(token string) []string {
	all := []string{token}
	parts := strings.Split(token, ":")
	if len(parts) != 3 {
		return all
	}
	module, last, _ := strings.Cut(parts[1], "/")
	if last != "" && strings.EqualFold(last, parts[2]) {
		all = append(all, parts[0]+":"+module+":"+parts[2])
	} else {
		module = parts[1]
	}
	if module == "index" {
		all = append(all, parts[0]+":"+parts[2])
	}
	return all
}

// deepest bounds the nesting of the types of values. Deeper values may have any form.
const deepest = 4

// properties returns the schema of the inputs of a resource type, and the required ones.
func (p *Package) properties(token string, docs bool) (object, []string) {
	of := p.Resources[token]
	required := slices.DeleteFunc(slices.Clone(of.RequiredInputs), func(name string) bool {
		// The language host fills in constants, such as the kind of a Kubernetes object.
		return of.Inputs[name].Const != nil
	})
	made := p.fields(of.Inputs, required, docs, deepest)
	if docs && of.Description != "" {
		made["description"] = firstParagraph(of.Description)
	}
	return made, required
}

func (p *Package) fields(of map[string]kind, required []string, docs bool, depth int) object {
	properties := object{}
	for name, each := range of {
		made := p.value(each, docs, depth)
		if docs && each.Description != "" {
			made["description"] = firstParagraph(each.Description)
		}
		properties[name] = made
	}
	made := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		made["required"] = required
	}
	return made
}

// value returns the schema of a value, or of an expression in its place.
func (p *Package) value(of kind, docs bool, depth int) object {
	exact := p.exact(of, docs, depth)
	if exact == nil {
		return object{}
	}
	return object{"anyOf": []any{exact, object{"$ref": "#/definitions/expression"}}}
}

// exact returns the schema of a value, or nil if it may have any form.
func (p *Package) exact(of kind, docs bool, depth int) object {
	if depth == 0 || len(of.OneOf) > 0 {
		return nil
	}
	if name, local := strings.CutPrefix(of.Ref, "#/types/"); local {
		found, known := p.Types[name]
		if !known || len(found.Enum) > 0 || found.Type != "object" {
			return nil
		}
		return p.fields(found.Properties, found.Required, docs, depth-1)
	}
	switch of.Type {
	case "string":
		// The language host converts numbers and booleans to texts.
		return object{"type": []string{"string", "number", "boolean"}}
	case "integer", "number", "boolean":
		return object{"type": of.Type}
	case "array":
		made := object{"type": "array"}
		if of.Items != nil {
			made["items"] = p.value(*of.Items, docs, depth-1)
		}
		return made
	case "object":
		made := object{"type": "object"}
		if of.Additional != nil {
			made["additionalProperties"] = p.value(*of.Additional, docs, depth-1)
		}
		return made
	}
	return nil
}

// firstParagraph returns the beginning of a description, which can be a page with examples in many languages.
func firstParagraph(text string) string {
	const most = 300
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
