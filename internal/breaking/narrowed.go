package breaking

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// narrowed describes what an object could say by the old schema and cannot say by the new one. It may report a change that
// is harmless for a reason that it does not see, such as a rule that is written in another way.
func narrowed(before, after *apiextensionsv1.JSONSchemaProps) []string {
	n := &narrowing{}
	n.compare("", before, after)
	return n.found
}

type narrowing struct{ found []string }

func (n *narrowing) note(path, format string, args ...any) {
	n.found = append(n.found, strings.TrimPrefix(path+" ", " ")+fmt.Sprintf(format, args...))
}

func (n *narrowing) compare(path string, before, after *apiextensionsv1.JSONSchemaProps) {
	if before.Type != after.Type {
		n.note(path, "changes its type from %s to %s", before.Type, after.Type)
		return
	}
	n.fields(path, before, after)
	n.values(path, before, after)
	n.limits(path, before, after)
	for _, rule := range after.XValidations {
		if !slices.ContainsFunc(before.XValidations, func(old apiextensionsv1.ValidationRule) bool { return old.Rule == rule.Rule }) {
			n.note(path, "has the new rule %s", rule.Rule)
		}
	}
	if before.Items != nil && after.Items != nil && before.Items.Schema != nil && after.Items.Schema != nil {
		n.compare(path+"[]", before.Items.Schema, after.Items.Schema)
	}
	if before.AdditionalProperties != nil && after.AdditionalProperties != nil && before.AdditionalProperties.Schema != nil && after.AdditionalProperties.Schema != nil {
		n.compare(path+".*", before.AdditionalProperties.Schema, after.AdditionalProperties.Schema)
	}
}

// fields compares the fields of an object.
func (n *narrowing) fields(path string, before, after *apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(before.Properties)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		old := before.Properties[name]
		field, is := after.Properties[name]
		if !is {
			n.note(at, "is no longer a field")
			continue
		}
		n.compare(at, &old, &field)
	}
	for _, name := range after.Required {
		if !slices.Contains(before.Required, name) && after.Properties[name].Default == nil {
			n.note(strings.TrimPrefix(path+"."+name, "."), "is required, and has no default")
		}
	}
	if before.AdditionalProperties != nil && after.AdditionalProperties == nil {
		n.note(path, "no longer takes keys of any name")
	}
}

// values compares the enumerated values.
func (n *narrowing) values(path string, before, after *apiextensionsv1.JSONSchemaProps) {
	if len(after.Enum) == 0 {
		return
	}
	if len(before.Enum) == 0 {
		n.note(path, "has a list of values")
	}
	for _, old := range before.Enum {
		if !slices.ContainsFunc(after.Enum, func(value apiextensionsv1.JSON) bool { return string(value.Raw) == string(old.Raw) }) {
			n.note(path, "no longer takes %s", old.Raw)
		}
	}
}

// limits compares the keywords that bound a value.
func (n *narrowing) limits(path string, before, after *apiextensionsv1.JSONSchemaProps) {
	if before.Nullable && !after.Nullable {
		n.note(path, "no longer takes null")
	}
	for _, limit := range []struct {
		name       string
		old, new   *float64
		isTighter  func(before, after float64) bool
		oldX, newX bool
	}{
		{"maximum", before.Maximum, after.Maximum, below, before.ExclusiveMaximum, after.ExclusiveMaximum},
		{"minimum", before.Minimum, after.Minimum, above, before.ExclusiveMinimum, after.ExclusiveMinimum},
		{"maxLength", number(before.MaxLength), number(after.MaxLength), below, false, false},
		{"minLength", number(before.MinLength), number(after.MinLength), above, false, false},
		{"maxItems", number(before.MaxItems), number(after.MaxItems), below, false, false},
		{"minItems", number(before.MinItems), number(after.MinItems), above, false, false},
		{"maxProperties", number(before.MaxProperties), number(after.MaxProperties), below, false, false},
		{"minProperties", number(before.MinProperties), number(after.MinProperties), above, false, false},
	} {
		if limit.new != nil && (limit.old == nil || limit.isTighter(*limit.old, *limit.new) || limit.newX && !limit.oldX) {
			n.note(path, "has the tighter %s %v", limit.name, *limit.new)
		}
	}
	for _, text := range []struct{ name, old, new string }{
		{"pattern", before.Pattern, after.Pattern}, {"format", before.Format, after.Format},
	} {
		if text.new != "" && text.new != text.old {
			n.note(path, "has the new %s %s", text.name, text.new)
		}
	}
	for _, keyword := range []struct {
		name     string
		old, new any
	}{
		{"multipleOf", before.MultipleOf, after.MultipleOf}, {"uniqueItems", before.UniqueItems, after.UniqueItems},
		{"allOf", before.AllOf, after.AllOf}, {"anyOf", before.AnyOf, after.AnyOf}, {"oneOf", before.OneOf, after.OneOf}, {"not", before.Not, after.Not},
		{"x-kubernetes-list-type", before.XListType, after.XListType}, {"x-kubernetes-list-map-keys", before.XListMapKeys, after.XListMapKeys},
	} {
		if !equality.Semantic.DeepEqual(keyword.old, keyword.new) {
			encoded, err := json.Marshal(keyword.new)
			if err != nil {
				encoded = []byte(err.Error())
			}
			n.note(path, "changes %s to %s", keyword.name, encoded)
		}
	}
}

func below(before, after float64) bool { return after < before }
func above(before, after float64) bool { return after > before }

func number(value *int64) *float64 {
	if value == nil {
		return nil
	}
	converted := float64(*value)
	return &converted
}
