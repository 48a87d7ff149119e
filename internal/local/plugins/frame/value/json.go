package value

import "github.com/pulumi/pulumi/sdk/v3/go/property"

// ToJSON converts a value to the form into which encoding/json decodes JSON. It drops secret marks, and omits null and
// unknown values from maps.
func ToJSON(v property.Value) any {
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
			list = append(list, ToJSON(e))
		}
		return list
	case v.IsMap():
		m := make(map[string]any, v.AsMap().Len())
		for k, e := range v.AsMap().All {
			if !e.IsComputed() && !e.IsNull() {
				m[k] = ToJSON(e)
			}
		}
		return m
	default:
		return nil
	}
}

// FromJSON converts a value that encoding/json has decoded, or an int, to a property value. It omits nil from maps. A
// value of another type becomes null.
func FromJSON(v any) property.Value {
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
			list[i] = FromJSON(e)
		}
		return property.New(property.NewArray(list))
	case map[string]any:
		m := make(map[string]property.Value, len(v))
		for k, e := range v {
			if e != nil {
				m[k] = FromJSON(e)
			}
		}
		return property.New(m)
	default:
		return property.New(property.Null)
	}
}
