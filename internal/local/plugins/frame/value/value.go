// Package value contains operations on Pulumi property values that depend on neither a type nor a rule.
package value

import "github.com/pulumi/pulumi/sdk/v3/go/property"

// Same reports whether two values are equal apart from their secret marks. A value with an unknown part equals no
// value.
func Same(a, b property.Value) bool {
	return !a.HasComputed() && !b.HasComputed() && Unmark(a).Equals(Unmark(b))
}

// Zero reports whether a value is null, false, zero or empty.
func Zero(v property.Value) bool {
	switch {
	case v.IsBool():
		return !v.AsBool()
	case v.IsNumber():
		return v.AsNumber() == 0
	case v.IsString():
		return v.AsString() == ""
	case v.IsArray():
		return v.AsArray().Len() == 0
	case v.IsMap():
		return v.AsMap().Len() == 0
	default:
		return v.IsNull()
	}
}

// Merge returns over with the additional keys of under, at every depth of maps.
func Merge(under, over property.Value) property.Value {
	if !under.IsMap() || !over.IsMap() {
		return over
	}
	m := over.AsMap().AsMap()
	for k, u := range under.AsMap().All {
		if o, ok := m[k]; ok {
			m[k] = Merge(u, o)
		} else {
			m[k] = u
		}
	}
	return property.WithGoValue(over, m)
}
