package frame

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// defaultsKey is the property in which a bridged provider lists the inputs that the provider set, not the program.
const defaultsKey = "__defaults"

// suffixDigits is the number of random digits at the end of a generated name.
const suffixDigits = 7

// internalKey reports whether a key belongs to the engine or to this package, and is not a property.
func internalKey(k string) bool { return strings.HasPrefix(k, "__") }

// checkObject returns failures for the parts of m that the object o does not allow.
func checkObject(o *object, required []string, m property.Map, path string) []p.CheckFailure {
	var failures []p.CheckFailure
	for k, v := range m.AllStable {
		if internalKey(k) {
			continue
		}
		f, ok := o.fields[k]
		if !ok {
			failures = append(failures, p.CheckFailure{
				Property: join(path, k),
				Reason:   fmt.Sprintf("unknown property %q%s", join(path, k), suggestion(k, o)),
			})
			continue
		}
		failures = append(failures, checkValue(f.typ, v, join(path, k))...)
	}
	for _, k := range slices.Sorted(maps.Keys(o.fields)) {
		if v, ok := m.GetOk(k); ok && !v.IsNull() {
			continue
		}
		if o.fields[k].required || path == "" && slices.Contains(required, k) {
			failures = append(failures, p.CheckFailure{
				Property: join(path, k),
				Reason:   fmt.Sprintf("missing required property %q", join(path, k)),
			})
		}
	}
	return failures
}

func checkValue(t *typ, v property.Value, path string) []p.CheckFailure {
	if v.IsComputed() || v.IsNull() || t.kind == kindAny {
		return nil
	}
	switch t.kind {
	case kindString:
		if v.IsString() {
			return nil
		}
	case kindBool:
		if v.IsBool() {
			return nil
		}
	case kindNumber:
		if v.IsNumber() {
			return nil
		}
	case kindInteger:
		if v.IsNumber() && v.AsNumber() == float64(int64(v.AsNumber())) {
			return nil
		}
	case kindArray:
		if v.IsArray() {
			var failures []p.CheckFailure
			for i, e := range v.AsArray().All {
				failures = append(failures, checkValue(t.elem, e, fmt.Sprintf("%s[%d]", path, i))...)
			}
			return failures
		}
	case kindMap:
		if v.IsMap() {
			var failures []p.CheckFailure
			for k, e := range v.AsMap().AllStable {
				failures = append(failures, checkValue(t.elem, e, join(path, k))...)
			}
			return failures
		}
	case kindObject:
		if v.IsMap() {
			return checkObject(t.object, nil, v.AsMap(), path)
		}
	}
	return []p.CheckFailure{{
		Property: path,
		Reason:   fmt.Sprintf("property %q must be %s, not %s", path, describe(t), describeValue(v)),
	}}
}

// completed adds the resource's defaults and its generated name. It keeps a name generated in olds.
func completed(r Resource, resourceName string, seed []byte, olds, news property.Map) (property.Map, error) {
	news = r.Rules.withDefaults("", news, news)
	k := r.AutoName
	if k == "" || !news.Get(k).IsNull() {
		return news, nil
	}
	if old := olds.Get(k); isDefault(olds, k) && old.IsString() {
		return noted(news.Set(k, old), k), nil
	}
	name, err := resource.NewUniqueName(seed, resourceName+"-", suffixDigits, 0, nil)
	if err != nil {
		return news, fmt.Errorf("generate a %s: %w", k, err)
	}
	return noted(news.Set(k, property.New(name)), k), nil
}

// noted records that the provider, not the program, set the input k.
func noted(inputs property.Map, k string) property.Map {
	var chosen []property.Value
	if list := inputs.Get(defaultsKey); list.IsArray() {
		chosen = list.AsArray().AsSlice()
	}
	return inputs.Set(defaultsKey, property.New(append(chosen, property.New(k))))
}

// isDefault reports whether the provider, not the program, set the input k.
func isDefault(inputs property.Map, k string) bool {
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

// withoutEffect returns the paths in v that s does not understand.
func withoutEffect(s *shape, v property.Value, path string) []string {
	if s == nil {
		return nil
	}
	var paths []string
	switch {
	case v.IsArray():
		for _, e := range v.AsArray().All {
			paths = append(paths, withoutEffect(s, e, path)...)
		}
	case v.IsMap():
		for k, e := range v.AsMap().AllStable {
			if internalKey(k) {
				continue
			}
			if child, ok := s.fields[k]; ok {
				paths = append(paths, withoutEffect(child, e, join(path, k))...)
			} else {
				paths = append(paths, join(path, k))
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func join(path, k string) string {
	if path == "" {
		return k
	}
	return path + "." + k
}

// suggestion names the property that the program probably meant: one with the same letters in another case or without
// separators.
func suggestion(k string, o *object) string {
	fold := func(s string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s)) }
	for _, known := range slices.Sorted(maps.Keys(o.fields)) {
		if a, b := fold(k), fold(known); a == b || a+"s" == b || a == b+"s" {
			return fmt.Sprintf(", did you mean %q?", known)
		}
	}
	return ""
}

func describe(t *typ) string {
	switch t.kind {
	case kindArray:
		return "a list"
	case kindMap:
		return "a map"
	case kindObject, kindInteger:
		return "an " + string(t.kind)
	default:
		return "a " + string(t.kind)
	}
}

func describeValue(v property.Value) string {
	switch {
	case v.IsString():
		return "a string"
	case v.IsBool():
		return "a boolean"
	case v.IsNumber():
		return "a number"
	case v.IsArray():
		return "a list"
	case v.IsMap():
		return "an object"
	case v.IsResourceReference():
		return "a resource (name one of its properties)"
	default:
		return "an asset"
	}
}
