package types

import (
	"encoding/json"

	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/frame/value"
)

// Project reduces live to the fields in wanted, so that values that the program never set do not show as drift. A field
// that is missing in live keeps its value in wanted. Maps and arrays of another length come from live as a whole.
func Project(t *Type, wanted, live property.Value) property.Value {
	switch {
	case t.Kind == KindObject && wanted.IsMap() && live.IsMap():
		m := wanted.AsMap().AsMap()
		for k, w := range m {
			f, known := t.Object.Fields[k]
			if l, ok := live.AsMap().GetOk(k); ok && known {
				m[k] = Project(f.Type, w, l)
			}
		}
		return property.WithGoValue(wanted, m)
	case t.Kind == KindArray && wanted.IsArray() && live.IsArray() && wanted.AsArray().Len() == live.AsArray().Len():
		list := wanted.AsArray().AsSlice()
		for i, w := range list {
			list[i] = Project(t.Elem, w, live.AsArray().Get(i))
		}
		return property.WithGoValue(wanted, property.NewArray(list))
	case wanted.IsArray() && live.IsArray():
		return value.MarkLike(Prune(t, live), wanted)
	default:
		return value.MarkLike(live, wanted)
	}
}

// Prune removes the fields from v that are not part of t, because the service may return fields that the SDK does not
// know.
func Prune(t *Type, v property.Value) property.Value {
	switch {
	case t.Kind == KindObject && v.IsMap():
		m := map[string]property.Value{}
		for k, e := range v.AsMap().All {
			if f, ok := t.Object.Fields[k]; ok {
				m[k] = Prune(f.Type, e)
			}
		}
		return property.WithGoValue(v, m)
	case t.Kind == KindArray && v.IsArray():
		list := v.AsArray().AsSlice()
		for i, e := range list {
			list[i] = Prune(t.Elem, e)
		}
		return property.WithGoValue(v, property.NewArray(list))
	default:
		return v
	}
}

// ParseConfig converts the values of a provider's configuration to their types. The engine passes values that are not
// strings as JSON in a string. ParseConfig does not change invalid JSON, so that Check reports it.
func ParseConfig(config *Object, m property.Map) property.Map {
	for k, f := range config.Fields {
		v := m.Get(k)
		if f.Type.Kind == KindString || !v.IsString() {
			continue
		}
		var parsed any
		if json.Unmarshal([]byte(v.AsString()), &parsed) == nil {
			m = m.Set(k, value.FromJSON(parsed).WithSecret(v.Secret()))
		}
	}
	return m
}
