// Package codec converts between properties and Go structs with JSON tags.
package codec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/frame/value"
)

// forceSendFields is the field of Google's API types that lists the fields to send even if they are zero.
const forceSendFields = "ForceSendFields"

// Decode decodes m into target, a pointer to a struct with JSON tags. It skips unknown values. In Google's API types,
// it lists the fields that m sets to zero in ForceSendFields.
func Decode(m property.Map, target any) error {
	values := quoted(reflect.TypeOf(target), value.ToJSON(property.New(m)), false)
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

// Encode converts a struct with JSON tags into properties. It skips null values. It includes the zero fields that
// Google's API types omit from JSON, so that a diff shows a value that somebody has removed.
func Encode(source any) (property.Map, error) {
	raw, err := json.Marshal(source)
	if err != nil {
		return property.Map{}, fmt.Errorf("encode state: %w", err)
	}
	var m any
	if err := json.Unmarshal(raw, &m); err != nil {
		return property.Map{}, fmt.Errorf("decode state: %w", err)
	}
	addZeros(reflect.ValueOf(source), m)
	v := value.FromJSON(quoted(reflect.TypeOf(source), m, true))
	if !v.IsMap() {
		return property.Map{}, nil
	}
	return v.AsMap(), nil
}

// quoted converts the numbers that Google's API types encode as strings, because a JSON number holds fewer than 64
// bits. It converts them to strings, or to numbers if off is true. values is the JSON form of a value of type t.
func quoted(t reflect.Type, values any, off bool) any {
	if t.Kind() == reflect.Pointer {
		return quoted(t.Elem(), values, off)
	}
	switch v := values.(type) {
	case []any:
		if t.Kind() == reflect.Slice {
			for i, e := range v {
				v[i] = quoted(t.Elem(), e, off)
			}
		}
	case map[string]any:
		if t.Kind() == reflect.Struct {
			quoteFields(t, v, off)
		}
	}
	return values
}

// quoteFields is quoted for the fields of a struct. An option "string" in the JSON tag marks a number encoded as a
// string.
func quoteFields(t reflect.Type, values map[string]any, off bool) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			quoted(f.Type, values, off)
			continue
		}
		v, ok := values[name]
		if !ok {
			continue
		}
		if !strings.Contains(options, "string") {
			values[name] = quoted(f.Type, v, off)
			continue
		}
		if n, ok := v.(float64); ok && !off {
			values[name] = strconv.FormatFloat(n, 'f', -1, 64)
		}
		if text, ok := v.(string); ok && off {
			if n, err := strconv.ParseFloat(text, 64); err == nil {
				values[name] = n
			}
		}
	}
}

// forceZeros lists the fields that values sets to zero in the ForceSendFields of target and of its parts. values is the
// JSON form of target.
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

// forceZeroFields is forceZeros for the fields of a struct. Structs that are not types of Google's API have no
// ForceSendFields.
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

// addZeros adds the zero fields that Google's API types omit from JSON to values, the JSON form of source.
func addZeros(source reflect.Value, values any) {
	switch source.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !source.IsNil() {
			addZeros(source.Elem(), values)
		}
	case reflect.Slice:
		list, ok := values.([]any)
		for i := 0; ok && i < source.Len() && i < len(list); i++ {
			addZeros(source.Index(i), list[i])
		}
	case reflect.Struct:
		if m, ok := values.(map[string]any); ok {
			addZeroFields(source, m)
		}
	}
}

// addZeroFields is addZeros for the fields of a struct. A missing object stays missing: its zero value would differ
// from it.
func addZeroFields(source reflect.Value, values map[string]any) {
	google := source.FieldByName(forceSendFields).IsValid()
	for i := range source.NumField() {
		f := source.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			addZeros(source.Field(i), values)
			continue
		}
		if v, ok := values[name]; ok {
			addZeros(source.Field(i), v)
			continue
		}
		if google && name != "-" {
			switch f.Type.Kind() {
			case reflect.Bool:
				values[name] = false
			case reflect.Int64, reflect.Float64:
				values[name] = float64(0)
			case reflect.String:
				values[name] = ""
			case reflect.Slice:
				values[name] = []any{}
			case reflect.Map:
				values[name] = map[string]any{}
			}
		}
	}
}
