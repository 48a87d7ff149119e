package provider

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// forceSendFields is the field in which Google's API types list the fields to send although they are zero.
const forceSendFields = "ForceSendFields"

// Decode fills target, a pointer to a struct with JSON tags, from m. Unknown values are left out. What m sets to zero is
// marked to be sent in Google's API types.
func Decode(m property.Map, target any) error {
	values := plain(property.New(m))
	raw, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("encode properties: %w", err)
	}
	if err := json.Unmarshal(raw, target); err != nil {
		return fmt.Errorf("decode properties: %w", err)
	}
	forceZeros(reflect.ValueOf(target), values)
	return nil
}

func forceZeros(target reflect.Value, values any) {
	switch target.Kind() {
	case reflect.Pointer:
		if !target.IsNil() {
			forceZeros(target.Elem(), values)
		}
	case reflect.Slice:
		list, ok := values.([]any)
		for i := 0; ok && i < target.Len() && i < len(list); i++ {
			forceZeros(target.Index(i), list[i])
		}
	case reflect.Struct:
		if m, ok := values.(map[string]any); ok {
			forceZeroFields(target, m)
		}
	}
}

func forceZeroFields(target reflect.Value, values map[string]any) {
	force := target.FieldByName(forceSendFields)
	for i := range target.NumField() {
		f := target.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			forceZeros(target.Field(i), values)
			continue
		}
		v, ok := values[name]
		if !ok || name == "-" {
			continue
		}
		if force.IsValid() && target.Field(i).IsZero() {
			force.Set(reflect.Append(force, reflect.ValueOf(f.Name)))
		}
		forceZeros(target.Field(i), v)
	}
}

// Encode turns a struct with JSON tags into properties. Null values are left out.
func Encode(source any) (property.Map, error) {
	raw, err := json.Marshal(source)
	if err != nil {
		return property.Map{}, fmt.Errorf("encode state: %w", err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		return property.Map{}, fmt.Errorf("decode state: %w", err)
	}
	return fromPlain(m).AsMap(), nil
}

// plain turns a value into what encoding/json writes, without secret marks and without unknown values.
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

// marked returns v with the secret marks of like at the same places.
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

// markPath marks the value at path as secret, in every element of the arrays on the way.
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

// projected returns live cut down to what wanted speaks of, so that values the program never set are not reported as
// drift. A field that live does not report keeps its wanted value; the keys of a map are taken from live.
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
	default:
		return marked(live, wanted)
	}
}

// asInput returns the part of live that t can express, without empty values: the inputs of an imported object. The
// result is null when nothing is left.
func asInput(t *typ, live property.Value) property.Value {
	switch {
	case t.kind == kindObject && live.IsMap():
		m := map[string]property.Value{}
		for k, l := range live.AsMap().All {
			if f, ok := t.object.fields[k]; ok {
				if v := asInput(f.typ, l); !v.IsNull() {
					m[k] = v
				}
			}
		}
		if len(m) == 0 {
			return property.New(property.Null)
		}
		return property.New(m)
	case t.kind == kindArray && live.IsArray():
		var list []property.Value
		for _, l := range live.AsArray().All {
			list = append(list, asInput(t.elem, l))
		}
		if len(list) == 0 {
			return property.New(property.Null)
		}
		return property.New(property.NewArray(list))
	case live.IsMap() && live.AsMap().Len() == 0, live.IsString() && live.AsString() == "":
		return property.New(property.Null)
	default:
		return live
	}
}

// configured returns a provider's configuration with the types it should have. The engine hands on everything that is not
// a string as JSON in a string. What cannot be read is left for the check to refuse.
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

// conforming returns the part of v that t can express. The service may tell more than the SDK knows.
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

// merged returns over with what only under has, at every depth of maps.
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
