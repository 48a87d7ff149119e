package codec

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/frame/value"
)

// Shape is the tree of the fields of a struct with JSON tags. A nil shape stands for a type without fields, such as a
// map, and ignores no property.
type Shape struct{ fields map[string]*Shape }

// ShapeOf returns the shape of A: a struct, or a pointer or slice of one. It returns nil for other types.
func ShapeOf[A any]() *Shape { return shapeOf(reflect.TypeFor[A]()) }

func shapeOf(t reflect.Type) *Shape {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return shapeOf(t.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	s := &Shape{fields: map[string]*Shape{}}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			maps.Copy(s.fields, shapeOf(f.Type).fields)
			continue
		}
		s.fields[name] = shapeOf(f.Type)
	}
	return s
}

// Ignored returns the sorted paths of the properties in v that have no field in the struct. Paths are dotted and omit
// array indices.
func (s *Shape) Ignored(v property.Value) []string { return s.ignored(v, "") }

func (s *Shape) ignored(v property.Value, path string) []string {
	if s == nil {
		return nil
	}
	var paths []string
	switch {
	case v.IsArray():
		for _, e := range v.AsArray().All {
			paths = append(paths, s.ignored(e, path)...)
		}
	case v.IsMap():
		for k, e := range v.AsMap().AllStable {
			if value.Internal(k) {
				continue
			}
			if child, ok := s.fields[k]; ok {
				paths = append(paths, child.ignored(e, value.Join(path, k))...)
			} else {
				paths = append(paths, value.Join(path, k))
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
