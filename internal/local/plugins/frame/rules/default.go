package rules

import (
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/frame/value"
)

// defaultsKey is the key under which a bridged provider lists the inputs that the provider set instead of the program.
const defaultsKey = "__defaults"

// AddDefaults returns the inputs with the defaults that they need, and records which inputs are defaults.
func (r ByPath) AddDefaults(inputs property.Map) property.Map {
	return r.addDefaults("", inputs, inputs)
}

// addDefaults adds the defaults of the properties directly below path to m, and records their names under defaultsKey.
// It does the same for the objects in m. root holds all inputs of the resource.
func (r ByPath) addDefaults(path string, m, root property.Map) property.Map {
	var chosen []property.Value
	for _, k := range r.where(func(rule Rule) bool { return rule.Default != nil }) {
		parent, name := splitPath(k)
		if parent != path || !m.Get(name).IsNull() || r.excluded(k, root) {
			continue
		}
		m = m.Set(name, value.FromJSON(r[k].Default))
		chosen = append(chosen, property.New(name))
	}
	m = m.Delete(defaultsKey)
	if len(chosen) > 0 {
		m = m.Set(defaultsKey, property.New(chosen))
	}
	for k, v := range m.All {
		if inner := value.Join(path, k); !value.Internal(k) && r.hasBelow(inner) {
			m = m.Set(k, r.addInnerDefaults(inner, v, root))
		}
	}
	return m
}

func (r ByPath) addInnerDefaults(path string, v property.Value, root property.Map) property.Value {
	switch {
	case v.IsMap():
		return property.WithGoValue(v, r.addDefaults(path, v.AsMap(), root))
	case v.IsArray():
		list := v.AsArray().AsSlice()
		for i, e := range list {
			list[i] = r.addInnerDefaults(path, e, root)
		}
		return property.WithGoValue(v, property.NewArray(list))
	default:
		return v
	}
}

// hasBelow reports whether a rule applies to a property below path.
func (r ByPath) hasBelow(path string) bool {
	for k := range r {
		if strings.HasPrefix(k, path+".") {
			return true
		}
	}
	return false
}

// excluded reports whether the input at path conflicts with an input that is set.
func (r ByPath) excluded(path string, root property.Map) bool {
	for k, rule := range r {
		if slices.Contains(rule.Excludes, path) && !value.At(root, k).IsNull() {
			return true
		}
	}
	return slices.ContainsFunc(r[path].Excludes, func(k string) bool { return !value.At(root, k).IsNull() })
}

func splitPath(path string) (parent, name string) {
	i := strings.LastIndex(path, ".")
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// RecordDefault records that the provider set the input k instead of the program.
func RecordDefault(inputs property.Map, k string) property.Map {
	var chosen []property.Value
	if list := inputs.Get(defaultsKey); list.IsArray() {
		chosen = list.AsArray().AsSlice()
	}
	return inputs.Set(defaultsKey, property.New(append(chosen, property.New(k))))
}

// IsDefault reports whether the provider set the input k instead of the program.
func IsDefault(inputs property.Map, k string) bool {
	list := inputs.Get(defaultsKey)
	if !list.IsArray() {
		return false
	}
	for _, e := range list.AsArray().All {
		if e.IsString() && e.AsString() == k {
			return true
		}
	}
	return false
}
