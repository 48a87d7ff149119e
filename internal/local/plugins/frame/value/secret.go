package value

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// Unmark returns v without secret marks and dependencies, at every depth.
func Unmark(v property.Value) property.Value {
	v = v.WithSecret(false).WithDependencies(nil)
	switch {
	case v.IsArray():
		list := v.AsArray().AsSlice()
		for i, e := range list {
			list[i] = Unmark(e)
		}
		return property.New(property.NewArray(list))
	case v.IsMap():
		m := v.AsMap().AsMap()
		for k, e := range m {
			m[k] = Unmark(e)
		}
		return property.New(m)
	default:
		return v
	}
}

// MarkLike returns v with the additional secret marks that like has at the same keys and indices.
func MarkLike(v, like property.Value) property.Value {
	if like.Secret() {
		return v.WithSecret(true)
	}
	switch {
	case v.IsArray() && like.IsArray():
		list := v.AsArray().AsSlice()
		for i, e := range list {
			if i < like.AsArray().Len() {
				list[i] = MarkLike(e, like.AsArray().Get(i))
			}
		}
		return property.WithGoValue(v, property.NewArray(list))
	case v.IsMap() && like.IsMap():
		m := v.AsMap().AsMap()
		for k, e := range m {
			m[k] = MarkLike(e, like.AsMap().Get(k))
		}
		return property.WithGoValue(v, m)
	default:
		return v
	}
}

// MarkPaths marks the values at dotted paths as secret. A path that leads through an array applies to each element.
func MarkPaths(m property.Map, paths []string) property.Map {
	v := property.New(m)
	for _, path := range paths {
		v = markPath(v, strings.Split(path, "."))
	}
	return v.AsMap()
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
