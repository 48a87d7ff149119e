package catalogue

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// orderPattern matches the names of orders, as the rule of Definition does.
var orderPattern = regexp.MustCompile(`^[a-z]([a-z0-9]|-[a-z0-9])*$`)

// Order returns an order as YAML. set holds values by the names of the entry's fields; the rest has its defaults. The
// error lists every problem.
func (e *Entry) Order(name string, set map[string]string) ([]byte, error) {
	var problems []string
	if !orderPattern.MatchString(name) || len(name) > MaxOrderName {
		problems = append(problems, fmt.Sprintf("the name %q is not at most %d lower-case letters, digits and single hyphens", name, MaxOrderName))
	}
	fields, spec := e.schema().Properties["spec"].Properties, map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		field, is := fields[key]
		if !is {
			problems = append(problems, fmt.Sprintf("a %s has no %q: it has %s", e.Names.Kind, key, strings.Join(slices.Sorted(maps.Keys(fields)), ", ")))
			continue
		}
		value, problem := parse(field, set[key])
		if problem != "" {
			problems = append(problems, fmt.Sprintf("%s %q %s", key, set[key], problem))
			continue
		}
		spec[key] = value
	}
	for _, required := range e.Spec.Required {
		if _, is := spec[required]; !is && e.Spec.Properties[required].Default == nil {
			problems = append(problems, required+" is missing: "+e.Spec.Properties[required].Description)
		}
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("order %s: %s", e.Names.Kind, strings.Join(problems, "; "))
	}
	head := fmt.Sprintf("apiVersion: %s/%s\nkind: %s\nmetadata:\n  name: %s\n", Group, Version, e.Names.Kind, name)
	if len(spec) == 0 {
		return []byte(head), nil
	}
	body, err := yaml.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return nil, fmt.Errorf("order %s: encode its spec: %w", e.Names.Kind, err)
	}
	return append([]byte(head), body...), nil
}

// Problem returns why a text is not a value of a field of the entry, or an empty string.
func (e *Entry) Problem(field, text string) string {
	_, problem := parse(e.schema().Properties["spec"].Properties[field], text)
	return problem
}

// parse returns a text as a value of a field, or what is wrong with it.
func parse(field apiextensionsv1.JSONSchemaProps, text string) (value any, problem string) {
	var err error
	switch field.Type {
	case "string":
		value = text
	case "integer":
		value, err = strconv.ParseInt(text, 10, 64)
	case "number":
		value, err = strconv.ParseFloat(text, 64)
	case "boolean":
		value, err = strconv.ParseBool(text)
	default:
		return nil, "is of type " + field.Type + ": write it into the YAML"
	}
	if err != nil {
		return nil, "is not of type " + field.Type
	}
	var allowed []string
	for _, each := range field.Enum {
		plain := strings.Trim(string(each.Raw), `"`)
		if plain == text {
			return value, ""
		}
		allowed = append(allowed, plain)
	}
	if len(allowed) > 0 {
		return nil, "is not one of " + strings.Join(allowed, ", ")
	}
	return value, ""
}

// Field describes a field of an order for people.
type Field struct {
	Name        string `json:"name"`
	Values      string `json:"values"`
	Default     string `json:"default,omitempty"`
	Description string `json:"description"`
}

// Fields returns the fields of an order, sorted by name. Values lists the possible values, or names the type.
func (e *Entry) Fields() []Field {
	properties := e.schema().Properties["spec"].Properties
	var fields []Field
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property := properties[name]
		field := Field{Name: name, Values: property.Type, Description: property.Description}
		var values []string
		for _, each := range property.Enum {
			values = append(values, strings.Trim(string(each.Raw), `"`))
		}
		if len(values) > 0 {
			field.Values = strings.Join(values, "|")
		}
		if property.Default != nil {
			field.Default = strings.Trim(string(property.Default.Raw), `"`)
		}
		fields = append(fields, field)
	}
	return fields
}
