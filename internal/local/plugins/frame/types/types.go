// Package types derives the types of properties from the Go types of a Pulumi SDK, and checks and converts values by
// type.
package types

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Kind is the kind of a property's type.
type Kind string

// Except for KindMap, KindObject and KindAny, the kinds have their names in Pulumi's package schema.
const (
	KindString  Kind = "string"
	KindBool    Kind = "boolean"
	KindInteger Kind = "integer"
	KindNumber  Kind = "number"
	KindArray   Kind = "array"
	KindMap     Kind = "map"
	KindObject  Kind = "object"
	KindAny     Kind = "any"
)

// Type is the type of one property in the SDK.
type Type struct {
	Kind   Kind
	Elem   *Type   // the type of the elements of an array or a map
	Object *Object // set for KindObject
}

// Object is the type of an object: of the inputs or outputs of a resource, or of a property.
type Object struct {
	// Go is the Go type in the SDK.
	Go reflect.Type
	// Fields maps the names of the properties to their types.
	Fields map[string]Field
}

// Field is one property of an object.
type Field struct {
	Type     *Type
	Required bool
}

// elementTyped is the interface that the SDK's XArgs types and its outputs have in common.
type elementTyped interface{ ElementType() reflect.Type }

// Cache caches objects, because they refer to each other and many resources share them. Its zero value is an empty
// cache. It is safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	objects map[reflect.Type]*Object
}

// Inputs returns the inputs of a resource or function. args is a value of an XArgs type of the SDK, or of a plain
// struct with pulumi tags.
func (c *Cache) Inputs(args any) *Object {
	t := reflect.TypeOf(args)
	if e, ok := args.(elementTyped); ok {
		t = e.ElementType()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.object(t)
}

// Outputs returns the outputs of a resource. state is a value of the SDK's resource type, whose fields with a pulumi
// tag are the outputs.
func (c *Cache) Outputs(state any) *Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.object(reflect.TypeOf(state))
}

func (c *Cache) object(t reflect.Type) *Object {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if o, ok := c.objects[t]; ok {
		return o
	}
	if c.objects == nil {
		c.objects = map[reflect.Type]*Object{}
	}
	o := &Object{Go: t, Fields: map[string]Field{}}
	c.objects[t] = o // before the fields, because a type may refer to itself
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
		o.Fields[name] = Field{Type: c.typ(ft), Required: !nilable(ft)}
	}
	return o
}

func (c *Cache) typ(t reflect.Type) *Type {
	switch t.Kind() {
	case reflect.Pointer:
		return c.typ(t.Elem())
	case reflect.String:
		return &Type{Kind: KindString}
	case reflect.Bool:
		return &Type{Kind: KindBool}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return &Type{Kind: KindInteger}
	case reflect.Float32, reflect.Float64:
		return &Type{Kind: KindNumber}
	case reflect.Slice:
		return &Type{Kind: KindArray, Elem: c.typ(t.Elem())}
	case reflect.Map:
		return &Type{Kind: KindMap, Elem: c.typ(t.Elem())}
	case reflect.Struct:
		return &Type{Kind: KindObject, Object: c.object(t)}
	case reflect.Interface:
		return &Type{Kind: KindAny}
	default:
		panic(fmt.Sprintf("SDK type %s is not a type of properties", t))
	}
}

// nilable reports whether a value of type t may be nil, which marks an optional property.
func nilable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	default:
		return false
	}
}
