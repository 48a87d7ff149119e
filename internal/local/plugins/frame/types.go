package frame

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
)

type kind string

// The kinds are JSON schema's names, except for objects, which are references in a schema.
const (
	kindString  kind = "string"
	kindBool    kind = "boolean"
	kindInteger kind = "integer"
	kindNumber  kind = "number"
	kindArray   kind = "array"
	kindMap     kind = "map"
	kindObject  kind = "object"
	kindAny     kind = "any"
)

// typ is the type of one property in the SDK.
type typ struct {
	kind   kind
	elem   *typ    // of arrays and maps
	object *object // of objects
}

type object struct {
	goType reflect.Type
	fields map[string]field
}

type field struct {
	typ      *typ
	required bool
}

// elementTyped is the common interface of the SDK's XArgs types and outputs.
type elementTyped interface{ ElementType() reflect.Type }

// typeCache caches objects, which refer to each other and which many resources share. Its zero value is ready to use.
type typeCache struct {
	mu      sync.Mutex
	objects map[reflect.Type]*object
}

// inputs returns the object of an SDK's XArgs value, or of a plain struct with pulumi tags.
func (c *typeCache) inputs(args any) *object {
	t := reflect.TypeOf(args)
	if e, ok := args.(elementTyped); ok {
		t = e.ElementType()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.object(t)
}

// outputs returns the object of an SDK's resource: its fields with a pulumi tag.
func (c *typeCache) outputs(state any) *object {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.object(reflect.TypeOf(state))
}

func (c *typeCache) object(t reflect.Type) *object {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if o, ok := c.objects[t]; ok {
		return o
	}
	if c.objects == nil {
		c.objects = map[reflect.Type]*object{}
	}
	o := &object{goType: t, fields: map[string]field{}}
	c.objects[t] = o
	for f := range t.Fields() {
		tag, ok := f.Tag.Lookup("pulumi")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(tag, ",")
		ft := f.Type
		if e, ok := reflect.TypeAssert[elementTyped](reflect.New(ft).Elem()); ok {
			ft = e.ElementType()
		}
		o.fields[name] = field{typ: c.typ(ft), required: !nilable(ft)}
	}
	return o
}

func (c *typeCache) typ(t reflect.Type) *typ {
	switch t.Kind() {
	case reflect.Pointer:
		return c.typ(t.Elem())
	case reflect.String:
		return &typ{kind: kindString}
	case reflect.Bool:
		return &typ{kind: kindBool}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return &typ{kind: kindInteger}
	case reflect.Float32, reflect.Float64:
		return &typ{kind: kindNumber}
	case reflect.Slice:
		return &typ{kind: kindArray, elem: c.typ(t.Elem())}
	case reflect.Map:
		return &typ{kind: kindMap, elem: c.typ(t.Elem())}
	case reflect.Struct:
		return &typ{kind: kindObject, object: c.object(t)}
	case reflect.Interface:
		return &typ{kind: kindAny}
	default:
		panic(fmt.Sprintf("type %s of the SDK is not one that a property can have", t))
	}
}

func nilable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	default:
		return false
	}
}

// shape describes the part of a property tree that a struct with JSON tags understands. A nil shape understands
// everything.
type shape struct{ fields map[string]*shape }

func shapeOf[A any]() *shape { return shapeOfType(reflect.TypeFor[A]()) }

func shapeOfType(t reflect.Type) *shape {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return shapeOfType(t.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	s := &shape{fields: map[string]*shape{}}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			maps.Copy(s.fields, shapeOfType(f.Type).fields)
			continue
		}
		s.fields[name] = shapeOfType(f.Type)
	}
	return s
}
