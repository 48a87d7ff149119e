package types

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/frame/value"
)

// Check returns a failure for each unknown property of m, each value of a wrong type and each missing required
// property. required names further required properties at the top level. Unknown values are valid.
func Check(o *Object, required []string, m property.Map) []p.CheckFailure {
	return checkObject(o, required, m, "")
}

func checkObject(o *Object, required []string, m property.Map, path string) []p.CheckFailure {
	var failures []p.CheckFailure
	for k, v := range m.AllStable {
		if value.Internal(k) {
			continue
		}
		f, ok := o.Fields[k]
		if !ok {
			failures = append(failures, p.CheckFailure{
				Property: value.Join(path, k),
				Reason:   fmt.Sprintf("unknown property %q%s", value.Join(path, k), suggestion(k, o)),
			})
			continue
		}
		failures = append(failures, checkValue(f.Type, v, value.Join(path, k))...)
	}
	for _, k := range slices.Sorted(maps.Keys(o.Fields)) {
		if v, ok := m.GetOk(k); ok && !v.IsNull() {
			continue
		}
		if o.Fields[k].Required || path == "" && slices.Contains(required, k) {
			failures = append(failures, p.CheckFailure{
				Property: value.Join(path, k),
				Reason:   fmt.Sprintf("missing required property %q", value.Join(path, k)),
			})
		}
	}
	return failures
}

// checkValue returns the failures of v, the value at path. A null is valid, because the engine sends it for a missing
// value.
func checkValue(t *Type, v property.Value, path string) []p.CheckFailure {
	if v.IsComputed() || v.IsNull() || t.Kind == KindAny {
		return nil
	}
	switch t.Kind {
	case KindString:
		if v.IsString() {
			return nil
		}
	case KindBool:
		if v.IsBool() {
			return nil
		}
	case KindNumber:
		if v.IsNumber() {
			return nil
		}
	case KindInteger:
		if v.IsNumber() && v.AsNumber() == float64(int64(v.AsNumber())) {
			return nil
		}
	case KindArray:
		if v.IsArray() {
			var failures []p.CheckFailure
			for i, e := range v.AsArray().All {
				failures = append(failures, checkValue(t.Elem, e, fmt.Sprintf("%s[%d]", path, i))...)
			}
			return failures
		}
	case KindMap:
		if v.IsMap() {
			var failures []p.CheckFailure
			for k, e := range v.AsMap().AllStable {
				failures = append(failures, checkValue(t.Elem, e, value.Join(path, k))...)
			}
			return failures
		}
	case KindObject:
		if v.IsMap() {
			return checkObject(t.Object, nil, v.AsMap(), path)
		}
	}
	return []p.CheckFailure{{
		Property: path,
		Reason:   fmt.Sprintf("property %q must be %s, not %s", path, describe(t), describeValue(v)),
	}}
}

// suggestion returns the end of a message that suggests the property with the same letters in another case, without
// separators or in the other number. It returns "" if there is none.
func suggestion(k string, o *Object) string {
	fold := func(s string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s)) }
	for _, known := range slices.Sorted(maps.Keys(o.Fields)) {
		if a, b := fold(k), fold(known); a == b || a+"s" == b || a == b+"s" {
			return fmt.Sprintf(", did you mean %q?", known)
		}
	}
	return ""
}

// describe returns the name of a type for a message.
func describe(t *Type) string {
	switch t.Kind {
	case KindArray:
		return "a list"
	case KindMap:
		return "a map"
	case KindObject, KindInteger:
		return "an " + string(t.Kind)
	default:
		return "a " + string(t.Kind)
	}
}

// describeValue returns the name of a value's type for a message.
func describeValue(v property.Value) string {
	switch {
	case v.IsString():
		return "a string"
	case v.IsBool():
		return "a boolean"
	case v.IsNumber():
		return "a number"
	case v.IsArray():
		return "a list"
	case v.IsMap():
		return "an object"
	case v.IsResourceReference():
		return "a resource (name one of its properties)"
	default:
		return "an asset"
	}
}
