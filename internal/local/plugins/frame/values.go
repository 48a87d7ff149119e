package frame

import (
	"encoding/json"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// plain converts a value to the form that encoding/json writes, without secret marks and unknown values.
func plain(v property.Value) any {
	switch {
	case v.IsBool():
		return v.AsBool()
	case v.IsNumber():
		return v.AsNumber()
	case v.IsString():
		return v.AsString()
	case v.IsArray():
		list := make([]any, 0, v.AsArray().Len())
		for _, e := range v.AsArray().All {
			list = append(list, plain(e))
		}
		return list
	case v.IsMap():
		m := make(map[string]any, v.AsMap().Len())
		for k, e := range v.AsMap().All {
			if !e.IsComputed() && !e.IsNull() {
				m[k] = plain(e)
			}
		}
		return m
	default:
		return nil
	}
}

func fromPlain(v any) property.Value {
	switch v := v.(type) {
	case bool:
		return property.New(v)
	case int:
		return property.New(float64(v))
	case float64:
		return property.New(v)
	case string:
		return property.New(v)
	case []any:
		list := make([]property.Value, len(v))
		for i, e := range v {
			list[i] = fromPlain(e)
		}
		return property.New(property.NewArray(list))
	case map[string]any:
		m := make(map[string]property.Value, len(v))
		for k, e := range v {
			if e != nil {
				m[k] = fromPlain(e)
			}
		}
		return property.New(m)
	default:
		return property.New(property.Null)
	}
}

// unmarked returns v without any secret marks and dependencies.
func unmarked(v property.Value) property.Value {
	v = v.WithSecret(false).WithDependencies(nil)
	switch {
	case v.IsArray():
		list := v.AsArray().AsSlice()
		for i, e := range list {
			list[i] = unmarked(e)
		}
		return property.New(property.NewArray(list))
	case v.IsMap():
		m := v.AsMap().AsMap()
		for k, e := range m {
			m[k] = unmarked(e)
		}
		return property.New(m)
	default:
		return v
	}
}

// marked returns v with the secret marks that like has at the same places.
func marked(v, like property.Value) property.Value {
	if like.Secret() {
		return v.WithSecret(true)
	}
	switch {
	case v.IsArray() && like.IsArray():
		list := v.AsArray().AsSlice()
		for i, e := range list {
			if i < like.AsArray().Len() {
				list[i] = marked(e, like.AsArray().Get(i))
			}
		}
		return property.WithGoValue(v, property.NewArray(list))
	case v.IsMap() && like.IsMap():
		m := v.AsMap().AsMap()
		for k, e := range m {
			m[k] = marked(e, like.AsMap().Get(k))
		}
		return property.WithGoValue(v, m)
	default:
		return v
	}
}

// markPath marks the value at path as secret, in every element of the arrays on the path.
func markPath(v property.Value, path []string) property.Value {
	switch {
	case v.IsNull():
		return v
	case len(path) == 0:
		return v.WithSecret(true)
	case v.IsArray():
		list := v.AsArray().AsSlice()
		for i, e := range list {
			list[i] = markPath(e, path)
		}
		return property.WithGoValue(v, property.NewArray(list))
	case v.IsMap():
		if child, ok := v.AsMap().GetOk(path[0]); ok {
			return property.WithGoValue(v, v.AsMap().Set(path[0], markPath(child, path[1:])))
		}
	}
	return v
}

// projected returns live reduced to the parts in wanted, so that values the program never set do not show as drift. A
// field that live lacks keeps its wanted value. The keys of a map come from live.
func projected(t *typ, wanted, live property.Value) property.Value {
	switch {
	case t.kind == kindObject && wanted.IsMap() && live.IsMap():
		m := wanted.AsMap().AsMap()
		for k, w := range m {
			f, known := t.object.fields[k]
			if l, ok := live.AsMap().GetOk(k); ok && known {
				m[k] = projected(f.typ, w, l)
			}
		}
		return property.WithGoValue(wanted, m)
	case t.kind == kindArray && wanted.IsArray() && live.IsArray() && wanted.AsArray().Len() == live.AsArray().Len():
		list := wanted.AsArray().AsSlice()
		for i, w := range list {
			list[i] = projected(t.elem, w, live.AsArray().Get(i))
		}
		return property.WithGoValue(wanted, property.NewArray(list))
	case wanted.IsArray() && live.IsArray():
		return marked(conforming(t, live), wanted)
	default:
		return marked(live, wanted)
	}
}

// asInput returns the part of live that t can express, as the inputs of an imported object. It omits zeros that equal
// a missing value. It returns null if nothing is left.
func asInput(t *typ, rules Rules, path string, live property.Value) property.Value {
	none := property.New(property.Null)
	switch {
	case t.kind == kindObject && live.IsMap():
		m := map[string]property.Value{}
		for k, l := range live.AsMap().All {
			if f, ok := t.object.fields[k]; ok {
				if v := asInput(f.typ, rules, join(path, k), l); !v.IsNull() {
					m[k] = v
				}
			}
		}
		if len(m) == 0 {
			return none
		}
		return property.New(m)
	case t.kind == kindArray && live.IsArray():
		var list []property.Value
		for _, l := range live.AsArray().All {
			if v := asInput(t.elem, rules, path, l); !v.IsNull() {
				l = v
			}
			list = append(list, l)
		}
		if len(list) == 0 {
			return none
		}
		return property.New(property.NewArray(list))
	case Zero(live) && (rules[path].Default == nil || Zero(fromPlain(rules[path].Default))):
		return none
	default:
		return live
	}
}

// configured returns a provider's configuration with its proper types. The engine passes values that are not strings
// as JSON in a string. configured leaves invalid JSON for the check to refuse.
func configured(config *object, m property.Map) property.Map {
	for k, f := range config.fields {
		v := m.Get(k)
		if f.typ.kind == kindString || !v.IsString() {
			continue
		}
		var parsed any
		if json.Unmarshal([]byte(v.AsString()), &parsed) == nil {
			m = m.Set(k, fromPlain(parsed).WithSecret(v.Secret()))
		}
	}
	return m
}

// conforming returns the part of v that t can express. The service may return more than the SDK knows.
func conforming(t *typ, v property.Value) property.Value {
	switch {
	case t.kind == kindObject && v.IsMap():
		m := map[string]property.Value{}
		for k, e := range v.AsMap().All {
			if f, ok := t.object.fields[k]; ok {
				m[k] = conforming(f.typ, e)
			}
		}
		return property.WithGoValue(v, m)
	case t.kind == kindArray && v.IsArray():
		list := v.AsArray().AsSlice()
		for i, e := range list {
			list[i] = conforming(t.elem, e)
		}
		return property.WithGoValue(v, property.NewArray(list))
	default:
		return v
	}
}

// merged returns over, completed with the keys that only under has, at every depth of maps.
func merged(under, over property.Value) property.Value {
	if !under.IsMap() || !over.IsMap() {
		return over
	}
	m := over.AsMap().AsMap()
	for k, u := range under.AsMap().All {
		if o, ok := m[k]; ok {
			m[k] = merged(u, o)
		} else {
			m[k] = u
		}
	}
	return property.WithGoValue(over, m)
}
